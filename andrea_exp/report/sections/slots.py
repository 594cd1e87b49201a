"""Loss by slot: what kind of word a target is, beside the least loss that is possible there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from andrea_exp.report.format import MISSING, count, fixed, share
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread, written
from andrea_exp.report.table import Run, Table

SlotRow = Mapping[str, Any]


def _html(table: Table) -> Markup:
    arms = {arm: [run for run in runs if _slots(run)] for arm, runs in table.arms.items()}
    arms = {arm: runs for arm, runs in arms.items() if runs}
    if not arms:
        return nothing(
            "No run has losses by slot: they need data that know what a word is in its sentence, "
            "such as the grammar."
        )
    names = list(dict.fromkeys(name for runs in arms.values() for name in _slots(runs[0])))
    explanation = (
        "The targets of the block protocol at T by what they are in their sentence. The floor is "
        "the loss of the best possible predictor on the same targets, shown the same windows; the "
        "excess above it says what a model has not learned. A slot that competes with another for "
        "a place in the sentence can fall below its floor, at the cost of the other; the mean over "
        "all targets cannot, but for chance."
    )
    return Markup("").join(
        [
            paragraph(explanation),
            _table(arms, names, key="slots-loss", head="Loss", cell=_loss),
            _table(arms, names, key="slots-excess", head="Excess above the floor", cell=_excess),
        ]
    )


def _slots(run: Run) -> dict[str, SlotRow]:
    rows: list[SlotRow] = (run.record.results or {}).get("slots") or []
    return {row["slot"]: row for row in rows}


def _table(
    arms: Mapping[str, Sequence[Run]],
    names: Sequence[str],
    *,
    key: str,
    head: str,
    cell: Callable[[Sequence[Run], str], Cell],
) -> Markup:
    everyone = [run for runs in arms.values() for run in runs]
    columns = ["slot", "share of targets", "targets", "floor", *arms]
    return data_table(
        key=key,
        caption=f"{head} by slot in nats per token, block protocol at T; means over seeds.",
        columns=[Column(head=head) for head in columns],
        rows=[
            [name, *_about(everyone, name), *(cell(runs, name) for runs in arms.values())]
            for name in names
        ],
    )


def _about(runs: Sequence[Run], name: str) -> list[Cell]:
    """What does not depend on the model: share, number and floor of the targets of a slot."""
    tokens = spread(_numbers(runs, name, "tokens")).mean
    total = spread([sum(row["tokens"] for row in _slots(run).values()) for run in runs]).mean
    floor = spread(_numbers(runs, name, "floor_nats")).mean
    return [share(tokens / total if tokens and total else None), count(tokens), fixed(floor)]


def _loss(runs: Sequence[Run], name: str) -> Cell:
    return written(_numbers(runs, name, "loss_nats"))


def _excess(runs: Sequence[Run], name: str) -> Cell:
    pairs = zip(_numbers(runs, name, "loss_nats"), _numbers(runs, name, "floor_nats"), strict=True)
    excess = [loss - floor for loss, floor in pairs if loss is not None and floor is not None]
    return written(excess, difference=True) if excess else MISSING


def _numbers(runs: Sequence[Run], name: str, key: str) -> list[float | None]:
    """One number per run; None where it has no such slot."""
    return [_slots(run).get(name, {}).get(key) for run in runs]


SECTION = Section(
    key="slots",
    title="Loss by slot",
    source="results.json (slots)",
    html=_html,
)
