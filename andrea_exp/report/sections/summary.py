"""What was run and what came out, on one screen."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup

from andrea_exp.report.arms import Policy, column_head, factors, policies
from andrea_exp.report.format import (
    MISSING,
    count,
    fixed,
    listing,
    multiple,
    numbering,
    quantity,
    share,
    short,
    signed,
)
from andrea_exp.report.markup import Cell, Column, data_table, fragment, paragraph
from andrea_exp.report.sections import verdicts
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import ENOUGH_SEEDS, spread, written
from andrea_exp.report.table import Run, Table

BITS_PER_NAT = 1.4426950408889634


class Tile(NamedTuple):
    """One key number."""

    name: str
    value: str
    more: str


def lead(table: Table) -> str:
    """What was run, in a sentence or two."""
    runs = table.runs
    sentence = f"{quantity(len(runs), 'run')}: {'; '.join(_varied(table))}."
    bodies = {_body(run) for run in runs}
    if len(bodies) == 1:
        sentence += f" {bodies.pop()}"
    return sentence


def screen(table: Table) -> str:
    """What a comparison with these seeds is worth; empty if nothing is compared."""
    if len(table.arms) < 2 or table.num_seeds >= ENOUGH_SEEDS:
        return ""
    seeds = quantity(table.num_seeds, "seed")
    return (
        f"This comparison is a screen: with {seeds} per arm no verdict is possible "
        f"(that takes {ENOUGH_SEEDS} or more)."
    )


def _html(table: Table) -> Markup:
    if not table.completed:
        return paragraph("No run of this report has results yet.")
    if len(table.completed) == 1:
        return fragment("tiles", {"tiles": list(_tiles(table, table.completed[0]))})
    remark = screen(table)
    marked = Markup('<p class="remark">{}</p>').format(remark) if remark else Markup()
    return verdicts.in_words(table) + marked + _glance(table)


def _varied(table: Table) -> Iterator[str]:
    """The choices of the report, those first in which its runs differ."""
    for group, noun in (("position", "position scheme"), ("output", "output head")):
        options = sorted({run.record.choices.get(group) or MISSING for run in table.runs})
        yield f"{noun} {options[0]}" if len(options) == 1 else f"{noun}s {listing(options)}"
    seeds = {run.seed for run in table.runs if run.seed is not None}
    if seeds:
        yield f"{'seed' if len(seeds) == 1 else 'seeds'} {numbering(seeds)}"


def _body(run: Run) -> str:
    """The model and its training."""
    config = run.record.config
    model, data = run.part("model", of=config), run.part("data", of=config)
    trainer = run.part("trainer", of=config)
    layers, heads = model.get("num_layers"), model.get("num_heads")
    return (
        f"A decoder of width {model.get('d_model')} with {quantity(layers or 0, 'layer')} of "
        f"{quantity(heads or 0, 'head')}, trained on windows of T = {model.get('context')} tokens "
        f"of {data.get('name')} for {quantity(trainer.get('max_steps') or 0, 'step')}."
    )


def _tiles(table: Table, run: Run) -> Iterator[Tile]:
    loss = run.final("val_loss")
    bits = None if loss is None else loss * BITS_PER_NAT
    yield Tile(
        "Validation loss",
        fixed(loss),
        f"nats per token at T = {run.trained_length}, block{_of_text(table)}; {fixed(bits)} bits",
    )
    for name, level in run.baselines.items():
        away = None if loss is None else loss - level
        yield Tile(f"Against {name}", signed(away), f"nats; {name} is {fixed(level)}")
    cost = run.part("cost")
    yield Tile("Parameters", short(cost.get("total")), _position_share(run, cost))
    for policy in policies(table):
        past = [factor for factor in factors(table) if factor > 1]
        for factor in dict.fromkeys(past[:1] + past[-1:]):
            yield _rise_tile(policy, factor)


def _of_text(table: Table) -> str:
    """How much of the loss is a matter of the text that was scored."""
    errors = table.lengths.filter(pl.col("factor") == 1, pl.col("protocol") == "block")
    known = errors.get_column("loss_se").drop_nulls()
    return f", s.e. {fixed(known[0])} over windows" if len(known) else ""


def _position_share(run: Run, cost: Any) -> str:
    parts = (run.part("fraction", of=cost)).get("of_total") or {}
    return f"{count(cost.get('total'))}; positions {share(parts.get('position'))} of them"


def _rise_tile(policy: Policy, factor: float) -> Tile:
    name = f"Tail rise at {multiple(factor)}, past T: {policy.beyond}"
    if policy.refused(factor=factor):
        return Tile(name, "refused", "the policy has no position for it")
    rise = spread(policy.numbers("rise_nats", factor=factor)).mean
    error = spread(policy.numbers("rise_se", factor=factor)).mean
    return Tile(name, signed(rise), f"nats above the tail at T; standard error {fixed(error)}")


def _glance(table: Table) -> Markup:
    past = [factor for factor in factors(table) if factor > 1]
    shown = list(dict.fromkeys(past[:1] + past[-1:]))
    levels = table.baselines
    columns = [
        Column(head="arm"),
        Column(head="seeds"),
        Column(head="parameters"),
        Column(head="loss at T"),
        *(Column(head=f"against {name}") for name in levels),
        Column(head="past T", kind="words"),
        *(Column(head=f"tail rise at {column_head(table, factor=factor)}") for factor in shown),
    ]
    rows = [[*_arm_cells(table, policy), *_rise_cells(policy, shown)] for policy in policies(table)]
    caption = (
        "Every arm (runs that differ by seed alone) under every policy past T. Losses in nats per "
        "token, block protocol; the tail rise is the loss of the last targets of a window minus "
        "that at T."
    )
    if table.num_seeds > 1:
        caption += " Means over seeds, ± the standard deviation between them."
    return data_table(key="glance", caption=caption, columns=columns, rows=rows)


def _arm_cells(table: Table, policy: Policy) -> list[Cell]:
    runs = table.arms[policy.arm]
    losses = [run.final("val_loss") for run in runs]
    middle = spread(losses).mean
    away = [
        signed(None if middle is None else middle - level) for level in table.baselines.values()
    ]
    total = count(runs[0].part("cost").get("total"))
    return [policy.arm, str(len(runs)), total, written(losses), *away, policy.beyond]


def _rise_cells(policy: Policy, shown: list[float]) -> list[Cell]:
    return [
        "refused"
        if policy.refused(factor=factor)
        else written(policy.numbers("rise_nats", factor=factor), difference=True)
        for factor in shown
    ]


SECTION = Section(
    key="summary",
    title="Key numbers",
    source="results.json (final, cost, lengths)",
    html=_html,
)
