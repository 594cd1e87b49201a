"""What the parameters of each arm are spent on."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from andrea_exp.report.format import count, share, short
from andrea_exp.report.markup import (
    Cell,
    Column,
    data_table,
    fragment,
    nothing,
    paragraph,
    with_note,
)
from andrea_exp.report.palette import PARTS
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Run, Table

OTHER = {
    "trainable": "trainable",
    "tied_shared": "shared by a tied output",
    "buffers": "in buffers",
    "padding_rows": "padding rows",
    "bytes_weights": "weights, bytes",
    "bytes_optimizer": "optimizer, bytes",
    "flops_per_token": "FLOP per token",
}
"""Entries of the ledger that are no part of the total, with their heads."""


def _html(table: Table) -> Markup:
    ledgers = {arm: runs[0] for arm, runs in table.arms.items() if runs[0].part("cost")}
    if not ledgers:
        return nothing("No run has a parameter ledger yet.")
    explanation = (
        "Parameters are counted once, where they are stored: a tied output has none of its own "
        "and shares those of the token table. Fixed rows, such as a sinusoid's, are buffers. "
        "The ledger does not depend on the seed."
    )
    return Markup("").join(
        [
            paragraph(explanation),
            _bars(ledgers),
            _parts_table(ledgers),
            *([_nominal_table(ledgers)] if _nominal(ledgers) else []),
            _other_table(ledgers),
        ]
    )


def _shares(run: Run, *, of: str = "of_total") -> Mapping[str, float]:
    return run.part("cost")["fraction"][of] or {}


def _bars(ledgers: Mapping[str, Run]) -> Markup:
    """One bar per arm, as long as its total against the largest."""
    totals = {arm: run.part("cost")["total"] for arm, run in ledgers.items()}
    largest = max(totals.values()) or 1
    rows = [
        {
            "arm": arm,
            "width": f"{100 * totals[arm] / largest:.2f}",
            "words": ", ".join(f"{part.name} {share(_shares(run)[part.key])}" for part in PARTS),
            "parts": [
                (part, f"{_shares(run)[part.key]:.5f}") for part in PARTS if _shares(run)[part.key]
            ],
        }
        for arm, run in ledgers.items()
    ]
    return fragment("bars", {"rows": rows, "parts": PARTS})


def _parts_table(ledgers: Mapping[str, Run]) -> Markup:
    heads: list[Cell] = [
        Markup('<span class="key" style="--part: var({})"></span>{}').format(
            part.ink.variable, part.name
        )
        for part in PARTS
    ]
    rows: list[Sequence[Cell]] = []
    for arm, run in ledgers.items():
        ledger, shares = run.part("cost"), _shares(run)
        cells: list[Cell] = [
            with_note(count(ledger[part.key]), share(shares[part.key]) if ledger[part.key] else "")
            for part in PARTS
        ]
        rows.append([arm, count(ledger["total"]), *cells])
    return data_table(
        key="cost-parts",
        caption="Parameters by part, and each part's share of the total.",
        columns=[Column(head=head) for head in ["arm", "total", *heads]],
        rows=rows,
    )


def _nominal(ledgers: Mapping[str, Run]) -> dict[str, Run]:
    return {arm: run for arm, run in ledgers.items() if _shares(run, of="of_nominal")}


def _nominal_table(ledgers: Mapping[str, Run]) -> Markup:
    rows: list[Sequence[Cell]] = []
    for arm, run in _nominal(ledgers).items():
        shares = _shares(run, of="of_nominal")
        cells = [share(shares[part.key]) for part in PARTS]
        rows.append([arm, count(run.part("cost")["nominal"]), *cells])
    return data_table(
        key="cost-nominal",
        caption="The same parts as shares of the round size in the system's name.",
        columns=[Column(head=head) for head in ["arm", "nominal", *(p.name for p in PARTS)]],
        rows=rows,
    )


def _other_table(ledgers: Mapping[str, Run]) -> Markup:
    rows: list[Sequence[Cell]] = [
        [arm, *(_number(run.part("cost"), key) for key in OTHER)] for arm, run in ledgers.items()
    ]
    return data_table(
        key="cost-other",
        caption="Beside the total: elements, bytes, and floating-point operations of training.",
        columns=[Column(head=head) for head in ["arm", *OTHER.values()]],
        rows=rows,
    )


def _number(ledger: Mapping[str, Any], key: str) -> str:
    value = ledger[key]
    return short(value) if key.startswith(("bytes", "flops")) else count(value)


SECTION = Section(
    key="cost",
    title="Parameter cost",
    source="results.json (cost)",
    html=_html,
)
