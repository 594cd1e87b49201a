"""Every seed on its own, and the differences between arms paired by seed."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from andrea_exp.report.arms import Policy, column_head, factors, policies
from andrea_exp.report.format import MISSING, fixed, quantity, signed
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph, with_note
from andrea_exp.report.sections.base import Section
from andrea_exp.report.sections.summary import screen
from andrea_exp.report.spread import Difference, paired
from andrea_exp.report.table import Table


class Measure(NamedTuple):
    """A number that arms are compared in."""

    head: str
    factor: float
    """Length in units of T."""
    by_seed: Callable[[Policy], dict[int | None, float]]
    """The number of each seed that has it."""


def _html(table: Table) -> Markup:
    found = policies(table)
    if not found:
        return nothing("No run has results yet.")
    if len(table.completed) == 1:
        return nothing("One run has results: there is no spread and no difference to show.")
    measures = _measures(table)
    text = "The seed is the unit: one row per seed. Arms with the same seed saw the same batches."
    parts = [paragraph(text)]
    if len(table.arms) > 1:
        remark = screen(table)
        parts += [Markup('<p class="remark">{}</p>').format(remark)] if remark else []
        parts.append(_paired(found, measures))
    return Markup("").join([*parts, _every_seed(found, measures)])


def _measures(table: Table) -> list[Measure]:
    past = [factor for factor in factors(table) if factor > 1]
    return [
        Measure("loss at T", 1.0, _getter("loss_nats", factor=1.0)),
        *(
            Measure(
                f"tail rise at {column_head(table, factor=factor)}",
                factor,
                _getter("rise_nats", factor=factor),
            )
            for factor in dict.fromkeys(past[:1] + past[-1:])
        ),
    ]


def _getter(column: str, *, factor: float) -> Callable[[Policy], dict[int | None, float]]:
    def by_seed(policy: Policy) -> dict[int | None, float]:
        rows = policy.at(factor=factor).select("seed", column).drop_nulls(column)
        return dict(rows.iter_rows())

    return by_seed


def _every_seed(found: Sequence[Policy], measures: Sequence[Measure]) -> Markup:
    rows: list[Sequence[Cell]] = []
    for policy in found:
        values = [
            None if policy.refused(factor=measure.factor) else measure.by_seed(policy)
            for measure in measures
        ]
        for seed in policy.rows.get_column("seed").unique(maintain_order=True):
            cells = ["refused" if value is None else fixed(value.get(seed)) for value in values]
            rows.append([policy.arm, policy.beyond, str(seed), *cells])
    return data_table(
        key="seeds-every",
        caption="Every seed, in nats per token.",
        columns=[
            Column(head="arm"),
            Column(head="past T", kind="words"),
            Column(head="seed"),
            *(Column(head=measure.head) for measure in measures),
        ],
        rows=rows,
    )


def _paired(found: Sequence[Policy], measures: Sequence[Measure]) -> Markup:
    references = [_reference(found, measure) for measure in measures]
    rows: list[Sequence[Cell]] = []
    for policy in found:
        cells = [
            _difference(policy, measure, reference)
            for measure, reference in zip(measures, references, strict=True)
        ]
        rows.append([policy.arm, policy.beyond, *cells])
    return data_table(
        key="seeds-paired",
        caption="Mean difference to the reference over pairs with the same seed, in nats per "
        "token, with its 95% t interval where there are two pairs or more, and how many of the "
        "seeds of the two arms are pairs. The reference is the arm with the most seeds, the first "
        "by name among equals; it was not picked by result.",
        columns=[
            Column(head="arm"),
            Column(head="past T", kind="words"),
            *(Column(head=measure.head) for measure in measures),
        ],
        rows=rows,
    )


def _reference(found: Sequence[Policy], measure: Measure) -> Policy:
    return max(found, key=lambda policy: len(measure.by_seed(policy)))


def _difference(policy: Policy, measure: Measure, reference: Policy) -> Cell:
    if policy is reference:
        return "reference"
    if policy.refused(factor=measure.factor):
        return "refused"
    own, other = measure.by_seed(policy), measure.by_seed(reference)
    shared = [seed for seed in own if seed in other]
    if not shared:
        return MISSING
    note = f"{len(shared)} of {quantity(len(own.keys() | other.keys()), 'seed')}"
    return _written(paired([own[seed] - other[seed] for seed in shared]), paired_by=note)


def _written(found: Difference, *, paired_by: str) -> Cell:
    if found.low is None or found.high is None:
        return with_note(signed(found.mean), paired_by)
    return with_note(
        signed(found.mean), f"[{signed(found.low)}, {signed(found.high)}], {paired_by}"
    )


SECTION = Section(
    key="seeds",
    title="Seeds and paired differences",
    source="results.json (lengths)",
    html=_html,
)
