"""Rows of sines and cosines, Vaswani et al. 2017 (arXiv:1706.03762), section 3.5."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor


@final
@dataclass(kw_only=True, frozen=True)
class Sinusoid:
    """Rows that are not written yet: multiplier * sinusoid(index, width, base).

    A backend adds them while it gathers, so that they need not pass through memory.
    """

    index: Int64[Tensor, " T"]
    """Position of each row."""
    width: int
    """D, even."""
    base: float
    multiplier: float

    def __post_init__(self) -> None:
        """Sine and cosine come in pairs."""
        if self.width % 2:
            raise ValueError(f"rows of sine and cosine need an even width, got {self.width}")

    @property
    def shape(self) -> torch.Size:
        """(T, D)."""
        return torch.Size((len(self.index), self.width))

    def write(self, dtype: torch.dtype) -> Float[Tensor, "T D"]:
        """The rows as a tensor beside `index`: computed in float64, rounded once."""
        rows = sinusoid(self.index, width=self.width, base=self.base)
        return (self.multiplier * rows).to(dtype)


def written(rows: Float[Tensor, "T D"] | Sinusoid, *, dtype: torch.dtype) -> Float[Tensor, "T D"]:
    """Rows as a tensor: those that are one already as they are, others computed in `dtype`."""
    return rows.write(dtype) if isinstance(rows, Sinusoid) else rows


def sinusoid(index: Int64[Tensor, " T"], *, width: int, base: float) -> Float64[Tensor, "T D"]:
    """Rows sin(p / base^(2k/D)), cos(same) for pair k, interleaved.

    Low pairs turn fast (the first has wavelength 2 pi), high pairs slowly.
    """
    pair = torch.arange(0, width, 2, dtype=torch.float64, device=index.device)
    angle = index.double()[:, None] * base ** (-pair / width)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)
