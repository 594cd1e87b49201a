"""`embedding` in Triton: one kernel forward, and backward a sum per table row after a sort."""

from dataclasses import dataclass
from functools import cache
from typing import final

from typing_extensions import override

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp
from andrea_exp.kernel.embedding.operator import operator


@final
@dataclass(kw_only=True, frozen=True)
class TritonConfig(EmbeddingKernelConfig):
    """Gather and sum in one pass; the same gradient bits every time."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return triton_machine.reasons(use)

    @override
    def runs_as(self, use: Use) -> str:
        return triton_machine.label(self.name)

    @override
    def build(self) -> EmbeddingOp:
        return _operator()


@cache
def _operator() -> EmbeddingOp:
    # Triton need not be installed where another backend is chosen.
    from andrea_exp.kernel.embedding.triton_launch import gather, table_gradient  # noqa: PLC0415

    return operator("triton", gather=gather, table_gradient=table_gradient)
