"""How far training moved each position row, beside what weight decay alone does."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from andrea_exp.report.figure import (
    Curve,
    arm_lines,
    baselines,
    mark_trained_length,
    panel,
    whole_numbers,
)
from andrea_exp.report.format import MISSING, fixed
from andrea_exp.report.markup import Cell, Column, data_table, legend, nothing, panels, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MEASURES = {
    "relative": "distance from init, in initial norms",
    "one_minus_cosine": "1 - cosine with the initial row",
}


def _html(table: Table) -> Markup:
    arms = {arm: [run for run in runs if _drift(run)] for arm, runs in table.arms.items()}
    arms = {arm: runs for arm, runs in arms.items() if runs}
    if not arms:
        return nothing("No run of this report has measured how far its position rows moved.")
    explanation = (
        "The distance of each row of the table from where it began, in units of its initial norm, "
        "and how far it turned. Decay shrinks a row without turning it: the floor is what it does "
        "to a row that never has a gradient. Every row of the table is shown, also those past T."
    )
    looks = {arm: runs[0].style for arm, runs in arms.items()}
    figures = [_figure(table, arms, measure=measure) for measure in MEASURES]
    words = [paragraph(f"{arm}: {cliff_in_words(runs[0])}") for arm, runs in arms.items()]
    return Markup("").join(
        [paragraph(explanation), *words, legend(looks), panels(figures), _table(arms)]
    )


def _drift(run: Run) -> Mapping[str, Any]:
    return run.part("drift", of=run.part("smoothness"))


def cliff_in_words(run: Run) -> str:
    """Where the rows of one run stop being trained."""
    found = _drift(run)
    drifts, first = found["relative"], found["first_untrained_row"]
    floor = fixed(found["decay_floor"])
    if first is None:
        return f"training moved all {len(drifts)} rows; decay alone would have given {floor}."
    before = f" after {fixed(drifts[first - 1])} at row {first - 1}" if first else ""
    place = "T" if first == run.trained_length else "not T"
    return (
        f"the cliff is at row {first} ({place}) of {len(drifts)}, the first that was never "
        f"trained: its drift is {fixed(drifts[first])}{before}, and decay alone gives {floor}."
    )


def _figure(table: Table, arms: Mapping[str, Sequence[Run]], *, measure: str) -> Markup:
    def paint(axes: "Axes") -> None:
        for runs in arms.values():
            curves = [_by_row(_drift(run)[measure]) for run in runs]
            arm_lines(axes, curves, style=runs[0].style, every_point=False)
        floors = {_drift(run)["decay_floor"] for runs in arms.values() for run in runs}
        if measure == "relative" and len(floors) == 1:
            baselines(axes, {"decay alone": floors.pop()}, side="right")
        if table.trained_length is not None:
            mark_trained_length(axes, table.trained_length)
        whole_numbers(axes)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("row of the table")
        axes.set_ylabel(MEASURES[measure])

    return panel(
        paint,
        key=f"drift-{measure.replace('_', '-')}",
        title=MEASURES[measure].capitalize(),
        description="; ".join(f"{arm}: {cliff_in_words(runs[0])}" for arm, runs in arms.items()),
    )


def _by_row(values: Sequence[float | None]) -> Curve:
    points = [(row, value) for row, value in enumerate(values) if value is not None]
    return Curve([row for row, _ in points], [value for _, value in points])


def _table(arms: Mapping[str, Sequence[Run]]) -> Markup:
    heads = ["least", "median", "most", "mean 1 - cosine", "decay alone", "first untrained row"]
    return data_table(
        key="drift-rows",
        caption="Drift of rows 0 to T-1, in initial norms; means over seeds of each run's least, "
        "median and largest. The first row that training never moved, where there is one.",
        columns=[Column(head=head) for head in ("arm", *heads)],
        rows=[_row(arm, runs) for arm, runs in arms.items()],
    )


def _row(arm: str, runs: Sequence[Run]) -> list[Cell]:
    trained = [_known(_drift(run)["relative"][: run.trained_length]) for run in runs]
    turned = [_known(_drift(run)["one_minus_cosine"][: run.trained_length]) for run in runs]
    first = {_drift(run)["first_untrained_row"] for run in runs}
    return [
        arm,
        *(
            fixed(spread([pick(rows) for rows in trained if rows]).mean)
            for pick in (min, median, max)
        ),
        fixed(spread([value for rows in turned for value in rows]).mean),
        fixed(spread([_drift(run)["decay_floor"] for run in runs]).mean),
        ", ".join(MISSING if row is None else str(row) for row in sorted(first, key=str)),
    ]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


SECTION = Section(
    key="drift",
    title="Drift of the position rows",
    source="results.json (smoothness, drift)",
    html=_html,
)
