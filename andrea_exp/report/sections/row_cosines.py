"""Heat maps of the cosines of all pairs of position rows, beside the sinusoid's."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from andrea_exp.report.figure import panel
from andrea_exp.report.markup import nothing, panels, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = "RdBu_r"
"""Of matplotlib: blue for -1, white for 0, red for 1."""

Half = Sequence[Sequence[float | None]]
"""The lower triangle of a matrix that equals its mirror image."""


def _html(table: Table) -> Markup:
    shown = {arm: run for arm, runs in table.arms.items() for run in runs[:1] if _found(run)}
    if not shown:
        return nothing("No run of this report has the cosines of all pairs of its rows.")
    explanation = (
        "Cosine of every pair of centred rows, from blue (-1) over white (0) to red (1). Rows that "
        "know their place show a band along the diagonal; if only the distance counts, as in the "
        "sinusoid of the same shape, all diagonals have one colour. Of the first seed of each arm; "
        "long tables are shown by 64 rows, evenly spaced."
    )
    figures = [
        _figure(_found(run)["rows"], _found(run)["trained"], key=f"matrix-{index}", title=arm)
        for index, (arm, run) in enumerate(shown.items())
    ]
    figures += [
        _figure(
            rows, half, key=f"matrix-sinusoid-{index}", title=f"sinusoid of {rows[-1] + 1} rows"
        )
        for index, (rows, half) in enumerate(_sinusoids(shown))
    ]
    return Markup("").join([paragraph(explanation), panels(figures)])


def _found(run: Run) -> Mapping[str, Any]:
    return run.part("row_cosines", of=run.part("smoothness"))


def _sinusoids(shown: Mapping[str, Run]) -> list[tuple[Sequence[int], Half]]:
    """Those of the arms' shapes, each once."""
    each: list[tuple[Sequence[int], Half]] = []
    for run in shown.values():
        one = (_found(run)["rows"], _found(run)["sinusoid"])
        each += [] if one in each else [one]
    return each


def _figure(rows: Sequence[int], half: Half, *, key: str, title: str) -> Markup:
    def paint(axes: "Axes") -> None:
        low, high = rows[0] - 0.5, rows[-1] + 0.5
        axes.grid(visible=False)
        axes.imshow(
            _mirrored(half),
            cmap=COLOURS,
            vmin=-1,
            vmax=1,
            interpolation="none",  # as one small picture, which the reader's program enlarges
            extent=(low, high, high, low),
        )
        axes.set_xlabel("row")
        axes.set_ylabel("row")
        _scale(axes)

    neighbours = [row[-2] for row in half if len(row) > 1 and row[-2] is not None]
    mean = f"{sum(neighbours) / len(neighbours):.3f}" if neighbours else "not defined"
    return panel(
        paint,
        key=key,
        title=title,
        description=f"Cosines of {len(rows)} rows with each other; those beside the diagonal have "
        f"a mean of {mean}.",
    )


def _mirrored(half: Half) -> list[list[float]]:
    """The whole matrix, NaN where a cosine is not defined."""
    size = range(len(half))
    known = [[math.nan if value is None else value for value in row] for row in half]
    return [[known[max(i, k)][min(i, k)] for k in size] for i in size]


def _scale(axes: "Axes") -> None:
    """Which colour is which cosine."""
    beside = axes.inset_axes((1.05, 0, 0.04, 1))
    steps = [[step / 64] for step in range(64, -65, -1)]
    beside.imshow(steps, cmap=COLOURS, vmin=-1, vmax=1, interpolation="none", extent=(0, 1, -1, 1))
    beside.set_aspect("auto")
    beside.set_xticks([])
    beside.yaxis.tick_right()
    beside.set_yticks([-1, 0, 1])


SECTION = Section(
    key="matrix",
    title="Cosines of all pairs of rows",
    source="results.json (smoothness, row_cosines)",
    html=_html,
)
