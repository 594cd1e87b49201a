"""Cosines of the rows of a table, plain and centred; rows without a direction are passed over."""

import torch
from jaxtyping import Float64
from torch import Tensor


def centred(rows: Float64[Tensor, "M D"]) -> Float64[Tensor, "M D"]:
    """Rows minus their mean; exactly zero where only rounding is left of equal rows."""
    moved = rows - rows.mean(dim=0)
    return torch.zeros_like(rows) if moved.norm() <= 1e-12 * rows.norm() else moved


def unit(rows: Float64[Tensor, "M D"]) -> Float64[Tensor, "M D"]:
    """Rows of norm 1; a zero row becomes NaN."""
    return rows / rows.norm(dim=1, keepdim=True)


def mean_cosine(units: Float64[Tensor, "M D"], *, lag: int) -> float | None:
    """Mean of cos(row p, row p + lag) over the pairs that both have a direction.

    Args:
        units: rows that `unit` has made.
        lag: from 1 to M-1.
    """
    cosines = (units[:-lag] * units[lag:]).sum(dim=1)
    defined = cosines[cosines.isfinite()]
    return float(defined.mean()) if len(defined) else None
