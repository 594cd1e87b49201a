"""Training loss against steps, with what little knowledge reaches drawn as lines."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from markupsafe import Markup

from andrea_exp.report.figure import Curve, arm_lines, baselines, panel, whole_numbers
from andrea_exp.report.format import count, fixed, share
from andrea_exp.report.labels import Name
from andrea_exp.report.markup import Cell, Column, data_table, legend, nothing, panels, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread, written
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 250
"""Of one line; longer records are drawn as means of neighbouring lines."""


def _html(table: Table) -> Markup:
    logged = [run for run in table.runs if run.record.metrics]
    if not logged:
        return nothing("No run has logged a step yet.")
    arms = {arm: [run for run in logged if run.arm == arm] for arm in _arms(logged)}
    curves = {run.name: _curve(run) for run in logged}
    half = max(x for curve in curves.values() for x in curve.x) / 2
    figures = [
        _figure(table, arms, curves, first_step=0, title="All steps"),
        _figure(table, arms, curves, first_step=half, title="The second half"),
    ]
    looks = {arm: runs[0].style for arm, runs in arms.items()}
    text = paragraph(_explanation(arms))
    return Markup("").join([text, legend(looks), panels(figures), _table(arms)])


def _figure(
    table: Table,
    arms: Mapping[str, Sequence[Run]],
    curves: Mapping[Name, Curve],
    *,
    first_step: float,
    title: str,
) -> Markup:
    """Loss from a step on; later ones have an axis of their own, since early losses are large."""

    def paint(axes: "Axes") -> None:
        for runs in arms.values():
            arm_lines(
                axes,
                [_from(curves[run.name], first_step) for run in runs if run.completed],
                style=runs[0].style,
                every_point=False,
                unfinished=[
                    _from(curves[run.name], first_step) for run in runs if not run.completed
                ],
            )
        low, high = axes.get_ylim()
        levels = {
            name: level
            for name, level in table.baselines.items()
            if low <= level <= high or name == "floor"
        }
        baselines(axes, levels if first_step else table.baselines, side="right")
        whole_numbers(axes)
        axes.set_xlabel("optimizer step")
        axes.set_ylabel("training loss, nats per token")

    return panel(
        paint,
        key=f"training-from-{first_step:g}",
        title=title,
        description="Training loss at the end: "
        + "; ".join(f"{arm} {_last(runs)}" for arm, runs in arms.items()),
    )


def _from(curve: Curve, step: float) -> Curve:
    points = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if x >= step]
    return Curve([x for x, _ in points], [y for _, y in points])


def _arms(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(run.arm for run in runs))


def _explanation(arms: Mapping[str, Sequence[Run]]) -> str:
    text = "Each point is the mean over the steps since the point before."
    if max(len(runs) for runs in arms.values()) > 1:
        text += " Thin lines are single seeds, thick ones their mean."
    if any(not run.completed for runs in arms.values() for run in runs):
        text += " Runs that stopped early are drawn thin, as far as they came."
    return text


def _curve(run: Run) -> Curve:
    rows = [
        (float(row["step"] or 0), float(row["train_loss_nats"] or math.nan))
        for row in run.record.metrics
        if row.get("train_loss_nats") is not None
    ]
    size = -(-len(rows) // MOST_POINTS) or 1
    groups = [rows[start : start + size] for start in range(0, len(rows), size)]
    return Curve(
        [group[-1][0] for group in groups],
        [fmean(loss for _, loss in group) for group in groups],
    )


def _last(runs: Sequence[Run]) -> str:
    ends = [run.record.metrics[-1].get("train_loss_nats") for run in runs if run.completed]
    return fixed(spread(ends).mean)


def _table(arms: Mapping[str, Sequence[Run]]) -> Markup:
    columns = [
        "arm",
        "runs",
        "steps",
        "tokens",
        "training loss",
        "validation loss",
        "steps clipped",
    ]
    return data_table(
        key="training-end",
        caption="Where training ended, in nats per token: the last logged training loss and the "
        "loss on validation text at T (block); means over completed runs.",
        columns=[Column(head=head) for head in columns],
        rows=[_row(arm, runs) for arm, runs in arms.items()],
    )


def _row(arm: str, runs: Sequence[Run]) -> list[Cell]:
    done = [run for run in runs if run.completed]
    last = [run.record.metrics[-1] for run in done]
    clipped = [row.get("clipped") for run in done for row in run.record.metrics]
    return [
        arm,
        str(len(done)),
        count(max((row["step"] or 0 for row in last), default=None)),
        count(max((row.get("tokens") or 0 for row in last), default=None)),
        written([row.get("train_loss_nats") for row in last]),
        written([run.final("val_loss") for run in done]),
        share(spread(clipped).mean),
    ]


SECTION = Section(
    key="training",
    title="Loss against steps",
    source="metrics.jsonl, results.json (final)",
    html=_html,
)
