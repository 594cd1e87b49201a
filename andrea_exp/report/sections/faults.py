"""Runs without results: failed, stopped, waiting, unreadable. They are shown, not dropped."""

import math

from markupsafe import Markup

from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import UnreadableRun
from andrea_exp.report.format import MISSING, fixed, quantity
from andrea_exp.report.markup import Cell, Column, data_table, nothing
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

NO_RESULTS = (
    "it completed, but results.json is not there; executing the directory again by andrea_exp.job "
    "measures what was trained"
)


def _html(table: Table) -> Markup:
    lost = [run for run in table.runs if not run.completed]
    total = quantity(len(table.runs) + len(table.unreadable), "run")
    if not lost and not table.unreadable:
        return nothing(f"None: {total} completed.")
    columns = [
        Column(head="run"),
        Column(head="status", kind="words"),
        Column(head="why", kind="prose"),
        Column(head="last logged step"),
        Column(head="loss there, nats"),
        Column(head="directory", kind="words"),
    ]
    return data_table(
        key="faults",
        caption=f"{len(lost) + len(table.unreadable)} of {total} are missing from the numbers "
        "elsewhere on this page: they left no results, cannot be read, or repeat a run that is "
        "counted.",
        columns=columns,
        rows=[*map(_row, lost), *map(_unreadable, table.unreadable)],
    )


def _row(run: Run) -> list[Cell]:
    steps = run.record.metrics
    last = steps[-1] if steps else {}
    return [
        run.name.run,
        run.record.status.name,
        _reason(run),
        str(last.get("step", MISSING)),
        fixed(last.get("train_loss_nats")),
        Markup("<code>{}</code>").format(run.record.name),
    ]


def _unreadable(run: UnreadableRun) -> list[Cell]:
    directory = Markup("<code>{}</code>").format(run.name)
    return [MISSING, "unreadable", run.reason, MISSING, MISSING, directory]


def _reason(run: Run) -> str:
    if run.repeats:
        return "it repeats the recipe of a newer run, which is counted in its place"
    failure = run.record.manifest.failure
    if failure is not None:
        return f"{failure.type}: {failure.message}"
    if run.record.status is Status.completed:
        return NO_RESULTS
    if any(_not_finite(row.get("train_loss_nats")) for row in run.record.metrics):
        return "the loss was not finite"
    return run.record.status.value


def _not_finite(value: float | None) -> bool:
    return value is not None and not math.isfinite(value)


SECTION = Section(
    key="faults",
    title="Failed and missing runs",
    source="manifest.json (status, failure), metrics.jsonl",
    html=_html,
)
