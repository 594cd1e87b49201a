"""Claims as one HTML file that needs nothing else."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from andrea_exp.lesson.claim import Claim, Plot, Value
from andrea_exp.lesson.words import MARKS, expected, shown, summary
from andrea_exp.report import palette
from andrea_exp.report.figure import Curve, arm_lines, panel, whole_numbers
from andrea_exp.report.format import quantity
from andrea_exp.report.markup import Column, data_table, fragment, legend, panels
from andrea_exp.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def page(claims: Sequence[Claim], *, runs: Table | None) -> str:
    """The document.

    Args:
        claims: measured.
        runs: what was read for them, if anything.
    """
    read = "No run was read" if runs is None else quantity(len(runs.completed), "run") + " read"
    return fragment(
        "lesson",
        {
            "title": "What the embedding lessons claim",
            "kind": "andrea_exp: the lessons, measured",
            "lead": f"{summary(claims)}. {read} for what training decides.",
            "question": "",
            "warnings": [],
            "light": palette.variables(dark=False),
            "dark": palette.variables(dark=True),
            "sections": list(_sections(claims)),
        },
    )


def _sections(claims: Sequence[Claim]) -> Iterator[dict[str, object]]:
    yield {"key": "claims", "title": "All claims", "html": _overview(claims)}
    for claim in claims:
        title = f"{claim.number}. {claim.question}"
        yield {"key": f"claim-{claim.number}", "title": title, "html": _html(claim)}


def _overview(claims: Sequence[Claim]) -> Markup:
    link = Markup('<a href="#claim-{number}">{question}</a>')
    return data_table(
        key="overview",
        caption="Verdicts of what was measured as this page was made.",
        columns=[
            Column(head="claim"),
            Column(head="verdict", kind="words"),
            Column(head="question", kind="words"),
        ],
        rows=[
            [
                str(claim.number),
                claim.verdict.words,
                link.format(number=claim.number, question=claim.question),
            ]
            for claim in claims
        ],
    )


def _html(claim: Claim) -> Markup:
    key = f"claim-{claim.number}"
    figures = [_figure(plot, key=f"{key}-plot-{index}") for index, plot in enumerate(claim.plots)]
    return fragment(
        "claim",
        {
            "verdict": claim.verdict.words,
            "says": claim.says,
            "right": claim.right,
            "values": _tables(claim, key=key),
            "plots": Markup("").join(figures),
            "command": claim.command,
        },
    )


def _tables(claim: Claim, *, key: str) -> Markup:
    live, read = "Measured now, beside what is expected.", "Read from runs."
    return Markup("").join(
        _table(values, key=f"{key}-{part}", caption=caption)
        for part, values, caption in (("live", claim.live, live), ("read", claim.read, read))
        if values
    )


def _table(values: Sequence[Value], *, key: str, caption: str) -> Markup:
    return data_table(
        key=key,
        caption=caption,
        columns=[
            Column(head="value", kind="words"),
            Column(head="ok"),
            Column(head="measured", kind="words"),
            Column(head="expected", kind="words"),
        ],
        rows=[
            [value.name, MARKS[value.holds], shown(value.value), expected(value)]
            for value in values
        ],
    )


def _figure(plot: Plot, *, key: str) -> Markup:
    looks = palette.styles(hues=list(plot.lines), dashes=[""])
    styles = {name: looks[name, ""] for name in plot.lines}
    drawn = panel(
        partial(_paint, plot=plot, styles=styles),
        key=key,
        title=plot.title,
        description="; ".join(
            f"{name}: {shown(line[0])} at 1, {shown(line[-1])} at {len(line)}"
            for name, line in plot.lines.items()
        ),
    )
    return legend(styles) + panels([drawn])


def _paint(axes: "Axes", *, plot: Plot, styles: dict[str, palette.Style]) -> None:
    for name, line in plot.lines.items():
        curve = Curve([float(place) for place in range(1, len(line) + 1)], line)
        arm_lines(axes, [curve], style=styles[name], every_point=False)
    whole_numbers(axes)
    axes.set_xlabel(plot.across)
