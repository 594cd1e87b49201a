"""The smoothness of a scheme's rows, before and after training, beside the controls."""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from andrea_exp.evaluate.controls import Controls, controls
from andrea_exp.evaluate.hidden_states import HiddenMean
from andrea_exp.evaluate.panel import Panel, panel
from andrea_exp.position.base import Position


@dataclass(kw_only=True, frozen=True)
class Smoothness:
    """All but `hidden_mean` None for a scheme without a table."""

    table: str | None
    """Which rows: the scheme, the first and the last one."""
    init: Panel | None
    trained: Panel | None
    controls: Controls | None
    """Of the trained rows' shape; `shuffled` has the trained rows."""
    drift: None
    """Not measured yet."""
    hidden_mean: HiddenMean | None
    """Of the states inside the model, for every scheme; None where they were not measured."""


def smoothness(
    position: Position, *, init: Float[Tensor, "M D"] | None, context: int, seed: int
) -> Smoothness:
    """Measure rows 0..context-1, those that training reads; later rows are left out.

    Args:
        position: the trained scheme.
        init: a copy of its table from before the training; None if it has none.
        context: T.
        seed: of the random controls.
    """
    table = position.table()
    if table is None or init is None:
        return Smoothness(
            table=None, init=None, trained=None, controls=None, drift=None, hidden_mean=None
        )
    trained = table[:context]
    return Smoothness(
        table=f"{type(position).__name__.lower()} rows 0..{len(trained) - 1}",
        init=panel(init[:context]),
        trained=panel(trained),
        controls=controls(trained, seed=seed),
        drift=None,
        hidden_mean=None,
    )
