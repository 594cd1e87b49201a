"""`embedding` in plain torch: the reference."""

from dataclasses import dataclass
from typing import final

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp, check_range
from andrea_exp.kernel.embedding.sinusoid import Sinusoid, written


@final
@dataclass(kw_only=True, frozen=True)
class TorchConfig(EmbeddingKernelConfig):
    """Gather, multiply, add; runs everywhere."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> EmbeddingOp:
        return embed


def embed(
    ids: Int64[Tensor, "B T"],
    table: Float[Tensor, "V E"],
    rows: Float[Tensor, "T E"] | Sinusoid | None,
    *,
    multiplier: float,
) -> Float[Tensor, "B T E"]:
    """Token rows times `multiplier`, plus position rows."""
    check_range(ids, vocab=len(table))
    vectors = F.embedding(ids, table)
    if multiplier != 1:
        vectors = vectors * multiplier
    return vectors if rows is None else vectors + written(rows, dtype=table.dtype)
