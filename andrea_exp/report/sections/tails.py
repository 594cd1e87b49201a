"""How much the loss at the end of a window rises past the trained length."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from andrea_exp.report.arms import Policy, column_head, factors, policies
from andrea_exp.report.figure import arm_lines, length_axis, mark_trained_length, panel
from andrea_exp.report.format import fixed, signed
from andrea_exp.report.markup import (
    Cell,
    Column,
    data_table,
    legend,
    nothing,
    panels,
    paragraph,
    with_note,
)
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread, written
from andrea_exp.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _html(table: Table) -> Markup:
    found = [policy for policy in policies(table) if policy.curves("rise_nats", protocol="block")]
    if not found:
        return nothing("No run has tail losses yet.")
    if len(factors(table)) < 2:
        return nothing("One length was scored, so no loss can rise.")
    explanation = (
        "Windows of every length end at the same places, and only their last targets count. So "
        "the same targets are compared at every length, and a difference is a matter of length "
        "alone; 0 would mean that the scheme works past T as it does at T."
    )
    return Markup("").join(
        [
            paragraph(explanation),
            legend({policy.label: policy.style for policy in found}),
            panels([_figure(table, found)]),
            _table(table),
        ]
    )


def _figure(table: Table, found: Sequence[Policy]) -> Markup:
    lengths = [
        int(factor * table.trained_length) if table.trained_length else factor
        for factor in factors(table)
        if any(spread(policy.numbers("rise_nats", factor=factor)).num_values for policy in found)
    ]

    def paint(axes: "Axes") -> None:
        axes.axhline(0, color="#59626d", linewidth=0.8)
        for policy in found:
            curves = policy.curves("rise_nats", protocol="block")
            arm_lines(axes, curves, style=policy.style, every_point=True)
        length_axis(axes, [int(length) for length in lengths], trained=table.trained_length)
        if table.trained_length is not None:
            mark_trained_length(axes, table.trained_length)
        axes.set_ylabel("tail loss minus that at T, nats")

    longest = factors(table)[-1]
    return panel(
        paint,
        key="tails-rise",
        title="Rise of the tail loss",
        description="; ".join(
            f"{policy.label}: "
            f"{signed(spread(policy.numbers('rise_nats', factor=longest)).mean)} nats at the "
            "longest length"
            for policy in found
        ),
    )


def _table(table: Table) -> Markup:
    others = [factor for factor in factors(table) if factor != 1]
    shown = [
        factor
        for factor in others
        if factor > 1
        or any(
            spread(policy.numbers("rise_nats", factor=factor)).num_values
            for policy in policies(table)
        )
    ]
    columns = [
        Column(head="arm"),
        Column(head="past T", kind="words"),
        Column(head="tail loss at T"),
        *(Column(head=f"rise at {column_head(table, factor=factor)}") for factor in shown),
    ]
    spoken = "; ± is the standard deviation over seeds" if table.num_seeds > 1 else ""
    return data_table(
        key="tails-table",
        caption="Tail loss at T, and its rise at other lengths, in nats per token; s.e. is the "
        f"standard error of one run over the places where its windows end{spoken}.",
        columns=columns,
        rows=[_row(policy, shown) for policy in policies(table)],
    )


def _row(policy: Policy, shown: Sequence[float]) -> list[Cell]:
    at_trained = written(policy.numbers("tail_loss_nats", factor=1))
    return [
        policy.arm,
        policy.beyond,
        at_trained,
        *(_rise(policy, factor=factor) for factor in shown),
    ]


def _rise(policy: Policy, *, factor: float) -> Cell:
    if policy.refused(factor=factor):
        return "refused"
    rises = policy.numbers("rise_nats", factor=factor)
    if spread(rises).num_values > 1:
        return written(rises, difference=True)
    error = spread(policy.numbers("rise_se", factor=factor)).mean
    note = "" if error is None else f"s.e. {fixed(error)}"
    return with_note(signed(spread(rises).mean), note)


SECTION = Section(
    key="tails",
    title="Tail rise past T",
    source="results.json (lengths)",
    html=_html,
)
