"""Loss against the length of the window, under both protocols, past T by a declared policy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import polars as pl
from markupsafe import Markup

from andrea_exp.report.arms import Policy, column_head, factors, policies
from andrea_exp.report.figure import (
    Curve,
    arm_lines,
    baselines,
    floor_line,
    length_axis,
    mark_trained_length,
    panel,
)
from andrea_exp.report.format import MISSING, count, fixed, multiple, quantity
from andrea_exp.report.markup import Cell, Column, data_table, legend, nothing, panels, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import written
from andrea_exp.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROTOCOLS = {
    "block": "Block: windows side by side",
    "sliding": "Sliding: overlapping windows",
}
"""The protocols with their titles, in the order of the page."""


def _html(table: Table) -> Markup:
    found = policies(table)
    if not found:
        return nothing("No run has scored any length yet.")
    explanation = (
        "Every target is scored exactly once under either protocol. Early targets of a block see "
        "few tokens, so its loss mixes short and long contexts; sliding windows give every target "
        "a long one. What a scheme does past the trained length T is a policy, and it is named "
        "with every number past T."
    )
    drawn = [
        _figure(table, found, protocol=protocol)
        for protocol in PROTOCOLS
        if protocol in table.lengths.get_column("protocol")
    ]
    figures = [legend({policy.label: policy.style for policy in found}), panels(drawn)]
    tables = [_table(table, found, protocol=protocol) for protocol in PROTOCOLS]
    return Markup("").join(
        [
            paragraph(explanation),
            *(figures if len(factors(table)) > 1 else []),
            *tables,
            _refusals(table),
        ]
    )


def paint_lengths(axes: "Axes", *, table: Table, shown: Sequence[Policy], protocol: str) -> None:
    """Loss against length, one line per policy of every arm."""
    lengths = table.lengths.filter(pl.col("protocol") == protocol).get_column("length")
    for policy in shown:
        curves = policy.curves("loss_nats", protocol=protocol)
        arm_lines(axes, curves, style=policy.style, every_point=True)
    length_axis(axes, sorted(lengths.unique()), trained=table.trained_length)
    if table.trained_length is not None:
        mark_trained_length(axes, table.trained_length)
    floor = _floor(table, protocol=protocol, by="length")
    levels = _near(axes, table)
    if floor.x:
        levels.pop("floor", None)
    baselines(axes, levels, side="left")
    if floor.x:
        floor_line(axes, floor)
    axes.set_ylabel("loss, nats per token")


def _near(axes: "Axes", table: Table) -> dict[str, float]:
    """The baselines that lie in the range of the lines, or little above it."""
    low, high = axes.get_ylim()
    reach = high + 0.35 * (high - low)
    return {name: level for name, level in table.baselines.items() if low <= level <= reach}


def _floor(table: Table, *, protocol: str, by: Literal["length", "factor"]) -> Curve:
    """The least loss possible at each length where it is known and the same for all runs."""
    known = table.lengths.filter(pl.col("protocol") == protocol).drop_nulls("floor_nats")
    found = known.group_by(by).agg(low=pl.col("floor_nats").min(), high=pl.col("floor_nats").max())
    shared = found.filter(pl.col("high") - pl.col("low") < 1e-9).sort(by)
    return Curve(shared.get_column(by).to_list(), shared.get_column("low").to_list())


def _figure(table: Table, found: Sequence[Policy], *, protocol: str) -> Markup:
    def paint(axes: "Axes") -> None:
        paint_lengths(axes, table=table, shown=found, protocol=protocol)

    return panel(
        paint,
        key=f"lengths-{protocol}",
        title=PROTOCOLS[protocol],
        description=describe_lengths(table, found, protocol=protocol),
    )


def describe_lengths(table: Table, found: Sequence[Policy], *, protocol: str) -> str:
    """The curves in words: loss at T and at the longest length of each."""
    longest = factors(table)[-1]

    def told(policy: Policy) -> str:
        at_trained = written(policy.numbers("loss_nats", factor=1, protocol=protocol))
        if policy.refused(factor=longest):
            return f"{policy.label}: {at_trained} at T, refused at {multiple(longest)}"
        far = written(policy.numbers("loss_nats", factor=longest, protocol=protocol))
        return f"{policy.label}: {at_trained} at T, {far} at {multiple(longest)}"

    return Markup("; ".join(told(policy) for policy in found)).striptags()


def _table(table: Table, found: Sequence[Policy], *, protocol: str) -> Markup:
    rows = table.lengths.filter(pl.col("protocol") == protocol)
    columns = [
        Column(head="arm"),
        Column(head="past T", kind="words"),
        *(Column(head=column_head(table, factor=factor)) for factor in factors(table)),
    ]
    strides = rows.get_column("stride").drop_nulls().unique().sort()
    step = f" Stride {strides[-1]} tokens." if len(strides) else ""
    return data_table(
        key=f"lengths-{protocol}-table",
        caption=f"Loss in nats per token, {protocol} protocol, by length of the window in tokens."
        f"{step} {_targets(rows)}",
        columns=columns,
        rows=[
            *(_row(table, policy, protocol=protocol) for policy in found),
            *_floor_row(table, protocol=protocol),
        ],
    )


def _targets(rows: pl.DataFrame) -> str:
    """How many targets a loss is the mean of, and what that means for comparing lengths."""
    scored = rows.drop_nulls("tokens_scored")
    counts = {
        at_trained: scored.filter((pl.col("factor") == 1) == at_trained)
        .get_column("tokens_scored")
        .unique()
        .sort()
        .to_list()
        for at_trained in (True, False)
    }
    if counts[True] == counts[False] or not counts[False]:
        return f"Targets scored: {_counts(counts[True])} at every length."
    return (
        f"Targets scored: {_counts(counts[True])} at T, {_counts(counts[False])} elsewhere. "
        "Different texts are part of this difference; the tail rise below has none of it."
    )


def _counts(numbers: Sequence[int]) -> str:
    return " or ".join(count(number) for number in numbers) or MISSING


def _row(table: Table, policy: Policy, *, protocol: str) -> list[Cell]:
    cells = [
        "refused"
        if policy.refused(factor=factor)
        else written(policy.numbers("loss_nats", factor=factor, protocol=protocol))
        for factor in factors(table)
    ]
    return [policy.arm, policy.beyond, *cells]


def _floor_row(table: Table, *, protocol: str) -> list[list[Cell]]:
    """What the best possible predictor of the data loses, if that is known."""
    floor = _floor(table, protocol=protocol, by="factor")
    known = dict(zip(floor.x, floor.y, strict=True))
    cells = [fixed(known.get(factor)) for factor in factors(table)]
    return [["floor: the best possible", MISSING, *cells]] if known else []


def _refusals(table: Table) -> Markup:
    refused = table.lengths.filter(pl.col("status") == "refused", pl.col("protocol") == "block")
    if refused.is_empty():
        return paragraph("No length was refused.")
    unique = refused.unique(["arm", "length", "beyond", "reason"], maintain_order=True)
    rows = [
        [row["arm"], row["beyond"], f"{row['length']} = {multiple(row['factor'])}", row["reason"]]
        for row in unique.to_dicts()
    ]
    return data_table(
        key="lengths-refused",
        caption=f"{quantity(len(rows), 'length')} refused, with the reason.",
        columns=[
            Column(head="arm"),
            Column(head="past T", kind="words"),
            Column(head="length"),
            Column(head="reason", kind="prose"),
        ],
        rows=rows,
    )


SECTION = Section(
    key="lengths",
    title="Loss against length",
    source="results.json (lengths)",
    html=_html,
)
