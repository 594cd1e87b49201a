"""Schemes across data sets: one number over all of them, on the scale that they share."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
from markupsafe import Markup

from andrea_exp.evidence.bootstrap import interquartile_mean, interquartile_mean_interval
from andrea_exp.record.reader import RunRecord
from andrea_exp.report.arms import column_head, factors
from andrea_exp.report.format import MISSING, fixed, listing
from andrea_exp.report.labels import names
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph, with_note
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

OF_DATA = ("data", "tokenizer")
"""What a task is: its text and the ids that it is told in."""
LEVEL = 0.95


def _html(table: Table) -> Markup:
    tasks = sorted({_task(run) for run in table.completed})
    if len(tasks) < 2:
        return nothing("These runs saw one data set, so there is nothing to sum up across them.")
    text = (
        f"Data sets: {listing(tasks)}. Losses of different data do not compare, but the share of "
        "targets that a model ranks first does. Its interquartile mean leaves out the best and the "
        "worst quarter of all seeds and data sets; the interval draws seeds again inside each data "
        "set (stratified bootstrap), and says nothing of further data sets."
    )
    return paragraph(text) + _table(table, num_tasks=len(tasks))


def _table(table: Table, *, num_tasks: int) -> Markup:
    shown = [factor for factor in factors(table) if factor >= 1]
    rows: list[Sequence[Cell]] = []
    for scheme, runs in _schemes(table).items():
        seen = {_task(run) for run in runs}
        counted = f"{len(seen)} of {num_tasks}"
        scores = [_scores(table, runs, factor=factor) for factor in shown]
        rows.append([scheme, counted, *(_cell(each, whole=len(seen)) for each in scores)])
    return data_table(
        key="tasks-table",
        caption="Interquartile mean of the accuracy over data sets and seeds, block protocol, past "
        f"T by each run's declared policy, with its {LEVEL:.0%} interval. Only rows of as many "
        "data sets compare.",
        columns=[
            Column(head="scheme"),
            Column(head="data sets"),
            *(Column(head=f"accuracy at {column_head(table, factor=each)}") for each in shown),
        ],
        rows=rows,
    )


def _schemes(table: Table) -> dict[str, list[Run]]:
    """The runs by what they are called when the data set is left out of the name."""
    runs = table.completed
    spoken = names([_without_data(run.record) for run in runs])
    found: dict[str, list[Run]] = {}
    for run, name in zip(runs, spoken, strict=True):
        found.setdefault(name.arm, []).append(run)
    return found


def _without_data(record: RunRecord) -> RunRecord:
    choices = {group: each for group, each in record.choices.items() if group not in OF_DATA}
    config = {key: each for key, each in record.config.items() if key not in OF_DATA}
    return replace(record, choices=choices, config=config)


def _task(run: Run) -> str:
    words = [run.record.choices.get(group) for group in OF_DATA]
    return " by ".join(word for word in words if word) or MISSING


def _scores(table: Table, runs: Sequence[Run], *, factor: float) -> Mapping[str, list[float]]:
    """The accuracy of each data set, one per seed."""
    rows = table.lengths.filter(
        pl.col("factor") == factor, pl.col("protocol") == "block", pl.col("declared")
    )
    known = dict(rows.select("run", "accuracy").drop_nulls().iter_rows())
    found: dict[str, list[float]] = {}
    for run in runs:
        if run.name.run in known:
            found.setdefault(_task(run), []).append(known[run.name.run])
    return found


def _cell(scores: Mapping[str, list[float]], *, whole: int) -> Cell:
    if len(scores) < whole:
        return "refused" if not scores else f"{len(scores)} of {whole}"
    values = list(scores.values())
    low, high = interquartile_mean_interval(values, level=LEVEL)
    return with_note(fixed(interquartile_mean(values)), f"[{fixed(low)}, {fixed(high)}]")


SECTION = Section(
    key="tasks",
    title="Across data sets",
    source="results.json (lengths)",
    html=_html,
)
