"""Linear biases on the scores, Press et al. 2022 (arXiv:2108.12409), section 3."""

import math
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
class AlibiConfig(PositionConfig):
    """ALiBi. It has no parameters, touches no vector, and is defined at every distance."""

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "Alibi":
        return Alibi(slopes=slopes(sizes.num_heads))


def slopes(num_heads: int) -> list[float]:
    """One slope per head: 2^(-8i/N) for N a power of two.

    Otherwise those of the next lower power of two, then every second one of twice that, as in the
    authors' code; the paper's text would have the ratio 2^(-8/N) for every N.
    """
    lower = 2 ** math.floor(math.log2(num_heads))

    def series(count: int) -> list[float]:
        return [2 ** (-8 * head / count) for head in range(1, count + 1)]

    return series(lower) + series(2 * lower)[::2][: num_heads - lower]


@final
class Alibi(Position):
    """Adds -slope * |i - j| to the score of query i and key j."""

    def __init__(self, *, slopes: list[float]) -> None:
        super().__init__()
        self._slopes = slopes

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> None:
        return None

    @override
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        return vectors

    @override
    def bias(self, positions: Positions) -> Float[Tensor, "N T T"]:
        index = positions.index
        distance = (index[:, None] - index[None, :]).abs().float()
        slope = torch.tensor(self._slopes, device=index.device)
        return -slope[:, None, None] * distance

    @override
    def table(self) -> None:
        return None

    @override
    def trained_length(self) -> None:
        return None

    @override
    def past_label(self) -> str:
        return "same function"

    @property
    @override
    def acts_in_attention(self) -> bool:
        return True

    @override
    def initialise(self, generator: torch.Generator) -> None:
        return
