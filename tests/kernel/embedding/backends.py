"""The backends of `embedding` that are tested: every option, and the CUDA kernels on the CPU."""

from functools import cache

import pytest
import torch

from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp
from andrea_exp.kernel.embedding.cuda_kernels import SOURCE, CudaKernels
from andrea_exp.kernel.embedding.operator import operator
from tests import options
from tests.kernel.contract import DEVICE, skip_where_it_cannot_run
from tests.kernel.cuda_host.program import HostProgram

EMULATED = "cuda_host"
NAMES = [*options.names("kernel/embedding"), EMULATED]
OPERATORS = [name for name in NAMES if name != "torch"]
"""Those with operators of their own, which torch cannot see into."""


def backend(name: str) -> EmbeddingKernelConfig:
    return options.typed(EmbeddingKernelConfig, options.values("kernel/embedding", name))


def built(name: str, dtype: torch.dtype = torch.float32) -> EmbeddingOp:
    """The operation; skips where it cannot run."""
    if name == EMULATED:
        return _emulated()
    skip_where_it_cannot_run(backend(name), dtype)
    return backend(name).build()


@cache
def _emulated() -> EmbeddingOp:
    if DEVICE.type != "cpu":
        pytest.skip("the emulator computes on the CPU, and there is a GPU")
    kernels = CudaKernels(HostProgram(SOURCE))
    return operator(EMULATED, gather=kernels.gather, table_gradient=kernels.table_gradient)
