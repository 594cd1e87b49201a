"""`attention` by blocks in Triton, with additive biases that may be learned."""

from dataclasses import dataclass
from functools import cache
from typing import Final, final

import torch
from typing_extensions import override

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.attention.operator import operator
from andrea_exp.kernel.backend import Use

_WIDEST: Final = 256
"""Features of a head; half as many where they take twice the memory of float32."""


@final
@dataclass(kw_only=True, frozen=True)
class TritonConfig(AttentionKernelConfig):
    """FlashAttention-2 with a bias: no score is stored, in either pass."""

    @override
    def reasons(self, use: Use) -> list[str]:
        found = triton_machine.reasons(use)
        width, widest = use.width // use.heads, _WIDEST // (2 if use.dtype == torch.float64 else 1)
        if width > widest:
            found.append(
                f"a head of {width} features is wider than {widest}, the most that its blocks hold "
                f"in {use.dtype} (more model.num_heads, or kernel/attention=torch)"
            )
        if use.dropout:
            found.append(
                f"it drops no attention weights, and model.dropout is {use.dropout} "
                "(model.dropout=0, or kernel/attention=torch)"
            )
        return found

    @override
    def runs_as(self, use: Use) -> str:
        return triton_machine.label(self.name)

    @override
    def build(self) -> AttentionOp:
        return _operator()


@cache
def _operator() -> AttentionOp:
    # Triton need not be installed where another backend is chosen.
    from andrea_exp.kernel.attention.triton_launch import backward, forward  # noqa: PLC0415

    return operator("triton", forward=forward, backward=backward)
