"""Fixed sine and cosine rows, Vaswani et al. 2017 (arXiv:1706.03762), section 3.5."""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from typing_extensions import override

from andrea_exp.component import above
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
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
    computed: bool
    """True: no row is stored, each step computes those that it adds; false: T rows are stored."""

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
            rows=sizes.context,
            width=sizes.d_model,
            base=self.base,
            multiplier=multiplier,
            computed=self.computed,
        )


@final
class Sinusoidal(Position):
    """T rows in a buffer that no checkpoint holds; later rows are computed by the same formula.

    If all are `computed`, the buffer has no row; it still says which device and dtype they are for.
    """

    def __init__(
        self, *, rows: int, width: int, base: float, multiplier: float, computed: bool
    ) -> None:
        super().__init__()
        check_size(rows, name="rows")
        check_size(width, name="width")
        if width % 2:
            raise ValueError(
                f"width must be even, since sine and cosine come in pairs; got {width}"
            )
        self._rows = rows
        self._width = width
        self._base = base
        self._multiplier = multiplier
        self._buffer: Tensor
        stored = torch.empty(0 if computed else rows, width)
        self.register_buffer("_buffer", stored, persistent=False)

    @override
    def rows(
        self, positions: Positions, beyond: Beyond | None = None
    ) -> Float[Tensor, "T D"] | Sinusoid:
        if positions.length <= len(self._buffer):
            return self._buffer[positions.index]
        return self._formula(positions.index)

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
        return self._buffer if len(self._buffer) else self._first_rows()

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
        self._buffer.copy_(self._first_rows()[: len(self._buffer)])

    def _first_rows(self) -> Float[Tensor, "M D"]:
        index = torch.arange(self._rows, device=self._buffer.device)
        return self._formula(index).write(self._buffer.dtype)

    def _formula(self, index: Int64[Tensor, " T"]) -> Sinusoid:
        return Sinusoid(
            index=index, width=self._width, base=self._base, multiplier=self._multiplier
        )
