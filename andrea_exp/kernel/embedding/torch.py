"""`embedding` in plain torch: the reference."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp


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
    rows: Float[Tensor, "T E"] | None,
    *,
    multiplier: float,
) -> Float[Tensor, "B T E"]:
    """Token rows times `multiplier`, plus position rows."""
    _check_range(ids, vocab=len(table))
    vectors = F.embedding(ids, table)
    if multiplier != 1:
        vectors = vectors * multiplier
    return vectors if rows is None else vectors + rows


def _check_range(ids: Int64[Tensor, "B T"], *, vocab: int) -> None:
    """Name the range of ids on the CPU; a GPU's own assertion stops a wrong id there."""
    if ids.device.type != "cpu" or torch.compiler.is_compiling() or ids.numel() == 0:
        return
    low, high = (int(end) for end in torch.aminmax(ids))
    if low < 0 or high >= vocab:
        wrong = low if low < 0 else high
        raise ValueError(f"token id {wrong} is outside 0..{vocab - 1}, the rows of the token table")
