"""`embedding` in CUDA C++: one kernel forward, and backward a sum per table row after a sort."""

from dataclasses import dataclass
from functools import cache
from typing import final

from typing_extensions import override

from andrea_exp.kernel import cuda_machine
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp
from andrea_exp.kernel.embedding.cuda_kernels import SOURCE, CudaKernels
from andrea_exp.kernel.embedding.operator import operator


@final
@dataclass(kw_only=True, frozen=True)
class CudaConfig(EmbeddingKernelConfig):
    """Gather and sum in one pass; the same gradient bits every time."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return cuda_machine.reasons(use)

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> EmbeddingOp:
        return _operator()


@cache
def _operator() -> EmbeddingOp:
    # cuda-core need not be installed where another backend is chosen.
    from andrea_exp.kernel.cuda_program import Program  # noqa: PLC0415

    kernels = CudaKernels(Program(SOURCE))
    return operator("cuda", gather=kernels.gather, table_gradient=kernels.table_gradient)
