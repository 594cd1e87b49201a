"""Who computes `cross_entropy` in these tests: every option, and our CUDA C++ on the CPU too."""

from functools import cache

import torch

from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import in_chunks
from andrea_exp.kernel.cross_entropy.cuda_kernels import SOURCE, row_kernels
from tests import options
from tests.kernel.contract import DEVICE, skip_where_it_cannot_run
from tests.kernel.cuda_host.program import HostProgram

HOST = "cuda_on_the_cpu"
NAMES = options.names("kernel/cross_entropy") + ([HOST] if DEVICE.type == "cpu" else [])


def operation(name: str, dtype: torch.dtype) -> CrossEntropyOp:
    """The operation, or a skipped test with the reasons against it."""
    if name == HOST:
        return on_host()
    backend = options.typed(CrossEntropyKernelConfig, options.values("kernel/cross_entropy", name))
    skip_where_it_cannot_run(backend, dtype)
    return backend.build()


@cache
def on_host() -> CrossEntropyOp:
    """Our CUDA C++, compiled by g++."""
    return in_chunks(HOST, row_kernels(HostProgram(SOURCE)), rows=None)
