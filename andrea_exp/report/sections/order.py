"""What the order of the earlier tokens is worth to each arm."""

from collections.abc import Sequence

from markupsafe import Markup

from andrea_exp.report.format import count, fixed
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread, written
from andrea_exp.report.table import Run, Table

HEADS = (
    "arm",
    "change of log-probability",
    "loss in order",
    "loss permuted",
    "rise",
    "standard error of the rise",
    "windows",
)


def _html(table: Table) -> Markup:
    arms = {arm: [run for run in runs if run.part("order")] for arm, runs in table.arms.items()}
    rows = [_row(arm, runs) for arm, runs in arms.items() if runs]
    if not rows:
        return nothing("No run has an order probe: it needs results, and windows of 4 or more.")
    explanation = (
        "Windows of T validation tokens, read in order and with all tokens but the last in a "
        "random order that is no reversal. The change says how much the prediction after the last "
        "token depends on that order; the rise says what the order is worth for the next token. "
        "Order can be known without a position scheme: the causal mask alone gives it to a model "
        "of two layers or more."
    )
    return paragraph(explanation) + data_table(
        key="order-probe",
        caption="In nats: the mean absolute change over ids and windows, and the loss of the one "
        "token after each window. Means over seeds, with the standard deviation between them; the "
        "standard error is that over the windows of one run.",
        columns=[Column(head=head) for head in HEADS],
        rows=rows,
    )


def _row(arm: str, runs: Sequence[Run]) -> list[Cell]:
    def numbers(key: str) -> list[float | None]:
        return [run.part("order").get(key) for run in runs]

    return [
        arm,
        written(numbers("change_nats")),
        written(numbers("loss_nats")),
        written(numbers("permuted_loss_nats")),
        written(numbers("rise_nats"), difference=True),
        fixed(spread(numbers("rise_se")).mean),
        count(spread(numbers("windows")).mean),
    ]


SECTION = Section(
    key="order",
    title="What order is worth",
    source="results.json (order)",
    html=_html,
)
