"""No positions at all (NoPE); order reaches a decoder through its causal mask alone.

Haviv et al. 2022 (arXiv:2203.16634); Kazemnejad et al. 2023 (arXiv:2305.19466).
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.position.base import Position, PositionConfig, Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes


@final
@dataclass(kw_only=True, frozen=True)
class NoneConfig(PositionConfig):
    """The baseline without positions."""

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "NonePosition":
        return NonePosition()


@final
class NonePosition(Position):
    """Adds, turns and biases nothing."""

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> None:
        return None

    @override
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        return vectors

    @override
    def bias(self, positions: Positions) -> None:
        return None

    @override
    def table(self) -> None:
        return None

    @override
    def trained_length(self) -> None:
        return None

    @override
    def past_label(self) -> str:
        return "nothing to extend"

    @property
    @override
    def acts_in_attention(self) -> bool:
        return False

    @override
    def initialise(self, generator: torch.Generator) -> None:
        return
