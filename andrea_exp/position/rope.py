"""Rotary positions, Su et al. 2021 (arXiv:2104.09864), eq. 34."""

from dataclasses import dataclass, field
from enum import Enum
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.position.base import Position, PositionConfig, Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes


class Pairing(Enum):
    """Which features of a head turn together; the two differ by a permutation of features."""

    interleaved = "(2i, 2i+1), as in the paper"
    half = "(i, i + H/2), as in Hugging Face's LLaMA"


@final
@dataclass(kw_only=True, frozen=True)
class RopeConfig(PositionConfig):
    """Rotation of queries and keys. It has no parameters and is defined at every position."""

    theta: float = field(metadata=above(1))
    """Base of the geometric series of wavelengths; dimensionless."""
    pairing: Pairing

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "Rope":
        if sizes.head_width % 2:
            raise ValueError(
                f"rope turns pairs of features, so the head width must be even, got "
                f"{sizes.head_width} = model.d_model={sizes.d_model} / "
                f"model.num_heads={sizes.num_heads}"
            )
        return Rope(theta=self.theta, pairing=self.pairing)


@final
class Rope(Position):
    """Turns pair i of a head by position times theta^(-2i/H).

    Angles are float64 and the turn is float32, whatever the model's precision; the cast is last.
    """

    def __init__(self, *, theta: float, pairing: Pairing) -> None:
        super().__init__()
        self._theta = theta
        self._pairing = pairing

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> None:
        return None

    @override
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        width = vectors.shape[-1]
        even = torch.arange(0, width, 2, dtype=torch.float64, device=vectors.device)
        angle = positions.index.double()[:, None] * self._theta ** (-even / width)
        exact = torch.promote_types(vectors.dtype, torch.float32)
        cos, sin = angle.cos().to(exact), angle.sin().to(exact)
        if self._pairing is Pairing.interleaved:
            first, second = vectors.to(exact).unflatten(-1, (-1, 2)).unbind(-1)
        else:
            first, second = vectors.to(exact).unflatten(-1, (2, -1)).unbind(-2)
        turned = (first * cos - second * sin, first * sin + second * cos)
        axis = -1 if self._pairing is Pairing.interleaved else -2
        return torch.stack(turned, dim=axis).flatten(-2).to(vectors.dtype)

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
        return "formula"

    @property
    @override
    def acts_in_attention(self) -> bool:
        return True

    @override
    def initialise(self, generator: torch.Generator) -> None:
        return
