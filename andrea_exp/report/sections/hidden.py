"""The mean hidden state at each position, layer by layer, for schemes with and without rows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from andrea_exp.report.figure import Curve, arm_lines, panel, position_axis
from andrea_exp.report.format import MISSING, fixed, share
from andrea_exp.report.markup import Cell, Column, data_table, legend, nothing, panels, paragraph
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Layer = Mapping[str, Any]
SHOWN = {"embedding": "What enters the first block", "head": "What is scored"}
"""The places of the model that have a figure."""
MEASURES = {
    "adjacent_cosine": "neighbour cosine",
    "centred_adjacent_cosine": "centred",
    "d2_over_d1": "d2/d1",
    "effective_rank": "effective rank",
}
SCALES = {
    "token_norm": "token vectors",
    "position_norm": "position rows",
    "ratio": "positions over tokens",
}
EXPLANATION = (
    "States are averaged at each position over windows of T that lie evenly over the validation "
    "text: what the texts say averages out, what the position does stays. The share is the "
    "variance of these means between positions over the variance of all states. The part of it "
    "that is noise is what means over so few windows differ by chance: where it is near 1, the "
    "other numbers of its row describe that noise and not the scheme. The first positions of a "
    "window differ from the rest in how much text they see, under every scheme."
)


def _html(table: Table) -> Markup:
    arms = {arm: [run for run in runs if _layers(run)] for arm, runs in table.arms.items()}
    arms = {arm: runs for arm, runs in arms.items() if runs}
    if not arms:
        return nothing("No run has hidden states by position yet.")
    return Markup("").join(
        [
            paragraph(EXPLANATION),
            legend({arm: runs[0].style for arm, runs in arms.items()}),
            panels([_figure(arms, layer=layer, title=title) for layer, title in SHOWN.items()]),
            _table(arms),
            _scales(arms),
        ]
    )


def _mean(run: Run) -> Mapping[str, Any]:
    return run.part("hidden_mean", of=run.part("smoothness"))


def _layers(run: Run) -> dict[str, Layer]:
    rows: list[Layer] = _mean(run).get("layers") or []
    return {row["layer"]: row for row in rows}


def _figure(arms: Mapping[str, Sequence[Run]], *, layer: str, title: str) -> Markup:
    curves = {
        arm: [_curve(_layers(run).get(layer, {}).get("offset") or []) for run in runs]
        for arm, runs in arms.items()
    }

    def paint(axes: "Axes") -> None:
        for arm, runs in arms.items():
            arm_lines(axes, curves[arm], style=runs[0].style, every_point=False)
        lasts = [curve.x[-1] for found in curves.values() for curve in found if curve.x]
        position_axis(axes, last=max(lasts, default=1))
        axes.set_ylim(bottom=0)
        axes.set_ylabel("offset of the mean state")

    return panel(
        paint,
        key=f"hidden-{layer}",
        title=title,
        description="Distance of the mean state at each position from the mean of all, in units "
        "of the root mean square distance of the states: "
        + "; ".join(f"{arm} {_ends(found)}" for arm, found in curves.items()),
    )


def _curve(offset: Sequence[float]) -> Curve:
    return Curve(range(1, len(offset) + 1), offset)


def _ends(curves: Sequence[Curve]) -> str:
    ends = [[curve.y[index] for curve in curves if curve.y] for index in (0, -1)]
    first, last = (fixed(spread(values).mean) for values in ends)
    return f"{first} at the first position, {last} at the last"


def _table(arms: Mapping[str, Sequence[Run]]) -> Markup:
    heads = ["share of the variance by position", "part of it that is noise", *MEASURES.values()]
    windows = sorted({_mean(run)["windows"] for runs in arms.values() for run in runs})
    return data_table(
        key="hidden-layers",
        caption=f"Mean states over {' or '.join(str(number) for number in windows)} windows: the "
        "panel of smoothness by layer. Means over seeds.",
        columns=[
            Column(head="arm"),
            Column(head="state", kind="words"),
            *(Column(head=head) for head in heads),
        ],
        rows=[row for arm, runs in arms.items() for row in _rows(arm, runs)],
    )


def _rows(arm: str, runs: Sequence[Run]) -> Iterator[list[Cell]]:
    for layer in _layers(runs[0]):

        def mean(key: str, layer: str = layer) -> float | None:
            return spread([_layers(run).get(layer, {}).get(key) for run in runs]).mean

        noise = mean("noise_share")
        yield [
            arm,
            layer,
            share(mean("position_share")),
            MISSING if noise is None else share(min(noise, 1)),
            *(fixed(mean(key)) for key in MEASURES),
        ]


def _scales(arms: Mapping[str, Sequence[Run]]) -> Markup:
    return data_table(
        key="hidden-scales",
        caption="Mean norms where position rows are added to token vectors, each of these counted "
        "as often as it is read, before a norm that follows the sum. Schemes that add no rows "
        "have no ratio. Means over seeds.",
        columns=[Column(head=head) for head in ("arm", "when", *SCALES.values())],
        rows=[
            [arm, words, *(_scale(runs, state, key) for key in SCALES)]
            for arm, runs in arms.items()
            for state, words in (("input_init", "at init"), ("input_trained", "after training"))
        ],
    )


def _scale(runs: Sequence[Run], state: str, key: str) -> str:
    return fixed(spread([run.part(state, of=_mean(run)).get(key) for run in runs]).mean)


SECTION = Section(
    key="hidden",
    title="Hidden states by position",
    source="results.json (smoothness, hidden_mean)",
    html=_html,
)
