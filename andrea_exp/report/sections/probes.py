"""How smoothness and validation loss develop along the training."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from andrea_exp.report.figure import Curve, arm_lines, baselines, panel, whole_numbers
from andrea_exp.report.format import fixed
from andrea_exp.report.markup import legend, nothing, panels, paragraph
from andrea_exp.report.reading import INDEPENDENT
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Column(NamedTuple):
    """A column of the probes, as a figure."""

    key: str
    title: str
    levels: tuple[tuple[str, float], ...] = ()
    """Lines to read it by."""


COLUMNS = (
    Column("centred_adjacent_cosine", "Centred neighbour cosine", (("independent rows", 0.0),)),
    Column("adjacent_cosine", "Neighbour cosine", (("independent rows", 0.0),)),
    Column("d2_over_d1", "d2/d1", (("independent rows", INDEPENDENT), ("random walk", 2**0.5))),
    Column("effective_rank", "Effective rank"),
    Column("val_loss_nats", "Validation loss, nats per token"),
)


def _html(table: Table) -> Markup:
    shown = {column: _curves(table, column) for column in COLUMNS}
    shown = {column: arms for column, arms in shown.items() if arms}
    if not shown:
        return nothing(
            "No run has measured its model along the training (evaluation.probe_every_steps)."
        )
    explanation = (
        "Measured while the model trained: the panel of the trained rows 0 to T-1, from their "
        "initial values on, and the loss on a small part of the validation text, the same at every "
        "step. The losses at the end, on more text, stand in the sections before. Runs that "
        "stopped early are left out."
    )
    first = [runs[0] for runs in table.arms.values()]
    names = {arm for arms in shown.values() for arm in arms}
    looks = {run.arm: run.style for run in first if run.arm in names}
    figures = [_figure(table, column, arms) for column, arms in shown.items()]
    return Markup("").join([paragraph(explanation), legend(looks), panels(figures)])


def _curves(table: Table, column: Column) -> dict[str, list[Curve]]:
    """Of every arm that has the column, one curve per seed."""
    arms = {arm: [_curve(run, column.key) for run in runs] for arm, runs in table.arms.items()}
    known = {arm: [curve for curve in curves if curve.x] for arm, curves in arms.items()}
    return {arm: curves for arm, curves in known.items() if curves}


def _curve(run: Run, key: str) -> Curve:
    """The column against steps; what the initial rows have is step 0."""
    points = [
        (float(row["step"] or 0), value)
        for row in run.record.metrics
        if (value := row.get(key)) is not None
    ]
    start = run.part("init", of=run.part("smoothness")).get(key)
    if points and start is not None:
        points = [(0.0, float(start)), *points]
    return Curve([step for step, _ in points], [value for _, value in points])


def _figure(table: Table, column: Column, arms: Mapping[str, Sequence[Curve]]) -> Markup:
    def paint(axes: "Axes") -> None:
        for arm, curves in arms.items():
            arm_lines(axes, curves, style=table.arms[arm][0].style, every_point=False)
        baselines(axes, dict(column.levels), side="left")
        whole_numbers(axes)
        axes.set_xlabel("optimizer step")
        axes.set_ylabel(column.title.lower())

    return panel(
        paint,
        key=f"probes-{column.key.replace('_', '-')}",
        title=column.title,
        description="From first to last: "
        + "; ".join(
            f"{arm} {fixed(curves[0].y[0])} to {fixed(curves[0].y[-1])}"
            for arm, curves in arms.items()
        ),
    )


SECTION = Section(
    key="probes",
    title="Smoothness along the training",
    source="metrics.jsonl, results.json (smoothness, init)",
    html=_html,
)
