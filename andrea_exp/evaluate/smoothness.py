"""The smoothness of a scheme's rows, before and after training, beside the controls."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from andrea_exp.evaluate.controls import Controls, controls
from andrea_exp.evaluate.drift import Decay, Drift, drift
from andrea_exp.evaluate.hidden_states import HiddenMean
from andrea_exp.evaluate.overlap import Overlap, overlap
from andrea_exp.evaluate.panel import Panel, panel
from andrea_exp.evaluate.permutation import Permutation, permutation
from andrea_exp.evaluate.row_cosines import RowCosines, row_cosines
from andrea_exp.position.base import Position


@dataclass(kw_only=True, frozen=True)
class Smoothness:
    """All but `hidden_mean` None for a scheme without a table."""

    table: str | None
    """Which rows: the scheme, the first and the last one."""
    init: Panel | None
    trained: Panel | None
    change: Panel | None
    """Of the trained rows minus the initial ones: what training alone made. None for fixed rows."""
    controls: Controls | None
    """Of the trained rows' shape; `shuffled` has the trained rows."""
    permutation: Permutation | None
    """The trained rows in many random orders."""
    drift: Drift | None
    """Of every row of the table, those that are left out elsewhere too. None for fixed rows."""
    overlap: Overlap | None
    """Of the trained rows with the token vectors."""
    row_cosines: RowCosines | None
    """Of the trained rows."""
    hidden_mean: HiddenMean | None
    """Of the states inside the model, for every scheme; None where they were not measured."""


def smoothness(  # noqa: PLR0913 - what is measured of rows has many sources
    position: Position,
    *,
    init: Float[Tensor, "M D"] | None,
    tokens: Float[Tensor, "V D"],
    context: int,
    decay: Decay,
    shuffles: int,
    seed: int,
) -> Smoothness:
    """Measure rows 0..context-1, those that training reads; of later ones the drift alone.

    Args:
        position: the trained scheme.
        init: a copy of its table from before the training; None if it has none.
        tokens: the token vectors as they are after training.
        context: T.
        decay: what the training does to position rows without a gradient.
        shuffles: random orders of the rows.
        seed: of the random controls and orders.
    """
    table = position.table()
    if table is None or init is None:
        return Smoothness(
            table=None,
            init=None,
            trained=None,
            change=None,
            controls=None,
            permutation=None,
            drift=None,
            overlap=None,
            row_cosines=None,
            hidden_mean=None,
        )
    trained, fixed = table[:context], not table.requires_grad
    measured = panel(trained)
    return Smoothness(
        table=f"{type(position).__name__.lower()} rows 0..{len(trained) - 1}",
        init=panel(init[:context]),
        trained=measured,
        change=None if fixed else panel(trained.detach() - init[:context]),
        controls=controls(trained, seed=seed),
        permutation=permutation(trained, shuffles=shuffles, seed=seed),
        drift=None if fixed else drift(init, table, decay=decay),
        overlap=overlap(trained, tokens, k95=measured.k95),
        row_cosines=row_cosines(trained),
        hidden_mean=None,
    )
