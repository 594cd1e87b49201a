"""The matrix of cosines of all pairs of rows, in a form that a report can draw."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from andrea_exp.evaluate.controls import sinusoid_rows
from andrea_exp.evaluate.cosine import centred, unit

MOST_ROWS = 64
"""Rows of a matrix; a longer table is shown by as many, evenly spaced."""


@dataclass(kw_only=True, frozen=True)
class RowCosines:
    """Cosines of centred rows, to three digits; None where a row has no direction.

    A matrix equals its mirror image, so its i-th list has the cosines of row i with rows 0..i.
    """

    rows: list[int]
    """Which rows: position ids, ascending."""
    trained: list[list[float | None]]
    sinusoid: list[list[float | None]]
    """The same rows of the sinusoid of the table's shape."""


def row_cosines(rows: Float[Tensor, "M D"]) -> RowCosines:
    """The matrix of a table, and of the sinusoid beside it."""
    count, width = rows.shape
    shown = torch.linspace(0, count - 1, min(count, MOST_ROWS)).round().long()
    return RowCosines(
        rows=shown.tolist(),
        trained=_matrix(rows, shown),
        sinusoid=_matrix(sinusoid_rows(count, width=width), shown),
    )


def _matrix(rows: Float[Tensor, "M D"], shown: Int64[Tensor, " K"]) -> list[list[float | None]]:
    """All rows are centred together, and then some are shown."""
    units = unit(centred(rows.detach().double().cpu()))[shown]
    return [
        [round(cosine, 3) if math.isfinite(cosine) else None for cosine in row[: index + 1]]
        for index, row in enumerate((units @ units.T).tolist())
    ]
