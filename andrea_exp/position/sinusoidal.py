"""Fixed sine and cosine rows, Vaswani et al. 2017 (arXiv:1706.03762), section 3.5."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.position.base import Position, PositionConfig, Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes, check_size


@final
@dataclass(kw_only=True, frozen=True)
class SinusoidalConfig(PositionConfig):
    """The sinusoid. It has no parameters and is defined at every position."""

    base: float = field(metadata=above(1))
    """Wavelengths run from 2 pi to almost 2 pi times this; dimensionless."""
    multiplier: float | None = field(metadata=above(0))
    """Factor on the rows; null: what gives them the initial scale of the token vectors."""

    @override
    def build(self, *, sizes: Sizes, token_scale: float) -> "Sinusoidal":
        if sizes.d_model % 2:
            raise ValueError(
                f"sinusoidal rows need an even width, got model.d_model={sizes.d_model}; "
                "sine and cosine come in pairs"
            )
        matched = token_scale * 2**0.5  # a raw row has the root mean square 1/sqrt(2)
        multiplier = matched if self.multiplier is None else self.multiplier
        return Sinusoidal(
            rows=sizes.context, width=sizes.d_model, base=self.base, multiplier=multiplier
        )


def sinusoid(index: Int64[Tensor, " T"], *, width: int, base: float) -> Float[Tensor, "T D"]:
    """Rows sin(p / base^(2k/D)), cos(same) for pair k, interleaved, in float64.

    Low pairs turn fast (the first has wavelength 2 pi), high pairs slowly.
    """
    pair = torch.arange(0, width, 2, dtype=torch.float64, device=index.device)
    angle = index.double()[:, None] * base ** (-pair / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


@final
class Sinusoidal(Position):
    """T rows in a buffer that no checkpoint holds; later rows are computed by the same formula."""

    def __init__(self, *, rows: int, width: int, base: float, multiplier: float) -> None:
        super().__init__()
        check_size(rows, name="rows")
        check_size(width, name="width")
        if width % 2:
            raise ValueError(
                f"width must be even, since sine and cosine come in pairs; got {width}"
            )
        self._width = width
        self._base = base
        self._multiplier = multiplier
        self._buffer: Tensor
        self.register_buffer("_buffer", torch.empty(rows, width), persistent=False)

    @override
    def rows(self, positions: Positions, beyond: Beyond | None = None) -> Float[Tensor, "T D"]:
        if positions.length <= len(self._buffer):
            return self._buffer[positions.index]
        return self._formula(positions.index).to(self._buffer)

    @override
    def turn(
        self, vectors: Float[Tensor, "B N T H"], positions: Positions
    ) -> Float[Tensor, "B N T H"]:
        return vectors

    @override
    def bias(self, positions: Positions) -> None:
        return None

    @override
    def table(self) -> Float[Tensor, "M D"]:
        return self._buffer

    @override
    def trained_length(self) -> None:
        return None

    @override
    def past_label(self) -> str:
        return "formula"

    @property
    @override
    def acts_in_attention(self) -> bool:
        return False

    @override
    def initialise(self, generator: torch.Generator) -> None:
        index = torch.arange(len(self._buffer), device=self._buffer.device)
        self._buffer.copy_(self._formula(index))

    def _formula(self, index: Int64[Tensor, " T"]) -> Float[Tensor, "T D"]:
        return self._multiplier * sinusoid(index, width=self._width, base=self._base)
