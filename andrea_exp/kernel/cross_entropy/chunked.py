"""`cross_entropy` in plain torch, a chunk of tokens at a time: without materialised logits."""

import functools
from dataclasses import dataclass, field
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import RowKernels, exact
from andrea_exp.kernel.cross_entropy.operator import Operator, chunked_operator, in_chunks


@final
@dataclass(kw_only=True, frozen=True)
class ChunkedConfig(CrossEntropyKernelConfig):
    """Less memory than `torch`, and one matrix product more; runs everywhere."""

    rows: int | None = field(metadata=at_least(1))
    """Tokens at a time; null takes as many as have logits no larger than features or weight."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> CrossEntropyOp:
        return in_chunks(_operator(), self.rows)


@functools.cache
def _operator() -> Operator:
    return chunked_operator("chunked", RowKernels(losses, gradient_))


def losses(logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"]) -> Float[Tensor, " C"]:
    """Loss of each row."""
    return F.cross_entropy(logits.to(exact(logits.dtype)), targets, reduction="none")


def gradient_(
    logits: Float[Tensor, "C V"], targets: Int64[Tensor, " C"], upstream: Float[Tensor, " C"]
) -> None:
    """Turn logits into upstream * (softmax - one-hot)."""
    shares = F.softmax(logits, dim=1, dtype=upstream.dtype)
    shares[torch.arange(len(targets), device=targets.device), targets] -= 1
    torch.mul(shares, upstream[:, None], out=logits)
