"""How smooth position tables are, before and after training, beside tables of known smoothness."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from andrea_exp.report.figure import Curve, arm_lines, panel, whole_numbers
from andrea_exp.report.format import count, fixed, listing
from andrea_exp.report.markup import Cell, Column, data_table, legend, nothing, panels, paragraph
from andrea_exp.report.palette import CONTROLS, MUTED, Marker, Style
from andrea_exp.report.reading import order_in_words
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Measure(NamedTuple):
    """A measure of the panel and its column."""

    key: str
    head: str
    digits: int
    """Decimals that are worth showing."""

    def of(self, panels: Sequence[Mapping[str, Any]]) -> str:
        """The mean over these panels, one per seed."""
        return fixed(spread([panel.get(self.key) for panel in panels]).mean, digits=self.digits)


STATES = {"init": "At init", "trained": "After training"}
MEASURES = (
    Measure("adjacent_cosine", "neighbour cosine", 3),
    Measure("centred_adjacent_cosine", "centred", 3),
    Measure("d1", "d1", 3),
    Measure("d1_centred", "d1 centred", 3),
    Measure("d2", "d2", 3),
    Measure("d2_over_d1", "d2/d1", 3),
    Measure("effective_rank", "effective rank", 1),
    Measure("k95", "k95", 0),
    Measure("high_frequency_energy", "high-frequency energy", 3),
    Measure("translation_invariance", "translation invariance", 3),
)


def measured_arms(table: Table) -> dict[str, list[Run]]:
    """The arms that have a position table, each with its measured runs."""
    arms = {arm: _measured(runs) for arm, runs in table.arms.items()}
    return {arm: runs for arm, runs in arms.items() if runs}


def _html(table: Table) -> Markup:
    measured = measured_arms(table)
    if not measured:
        return nothing("No run of this report has a position table, so there are no rows.")
    schemes = {run.name.scheme for runs in measured.values() for run in runs}
    without = sorted({run.name.scheme for run in table.completed} - schemes)
    note = f" Without a table, and so without rows: {listing(without)}." if without else ""
    explanation = (
        "Cosine of two rows of the position table against their distance (lag). A plain cosine "
        "misleads: a mean that all rows share raises it, and so does a random walk. Centring "
        "removes the first, d2/d1 tells the second (1.73 for independent rows, 1.41 for a walk, "
        "below 1 for a smooth curve). So every table stands beside controls of its own shape; "
        f"grey lines are those of {next(iter(measured))}.{note}"
    )
    looks = {arm: runs[0].style for arm, runs in measured.items()} | _control_looks(measured)
    figures = [
        _figure(measured, state=state, centred=centred)
        for state in STATES
        for centred in (False, True)
    ]
    words = {arm: order_in_words(runs) for arm, runs in measured.items()}
    return Markup("").join(
        [
            paragraph(explanation),
            *(paragraph(f"{arm}: {text}") for arm, text in words.items() if text),
            legend(looks),
            panels(figures),
            _table(measured),
            _beside_chance(measured),
        ]
    )


def _measured(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.part("trained", of=run.part("smoothness"))]


def _controls(run: Run) -> Mapping[str, Mapping[str, Any]]:
    return run.part("smoothness")["controls"]


def _control_looks(measured: Mapping[str, Sequence[Run]]) -> dict[str, Style]:
    names = _controls(next(iter(measured.values()))[0])
    return {
        f"control: {name.replace('_', ' ')}": Style(
            ink=MUTED, marker=Marker("", ""), dash=CONTROLS[index % len(CONTROLS)]
        )
        for index, name in enumerate(names)
    }


def paint_cosines(
    axes: "Axes", *, measured: Mapping[str, Sequence[Run]], state: str, centred: bool
) -> None:
    """Cosine against lag of every arm, on top of the first one's controls."""
    key = "centred_cosine_by_lag" if centred else "cosine_by_lag"
    first = next(iter(measured.values()))[0]
    looks = _control_looks(measured).values()
    for control, style in zip(_controls(first).values(), looks, strict=True):
        arm_lines(axes, [_by_lag(control[key])], style=style, every_point=False)
    for runs in measured.values():
        tables = [run.part(state, of=run.part("smoothness")) for run in runs]
        curves = [_by_lag(table[key]) for table in tables if table]
        arm_lines(axes, curves, style=runs[0].style, every_point=False)
    axes.set_ylim(-0.55 if centred else -0.3, 1.05)
    whole_numbers(axes)
    axes.set_xlabel("lag, positions")
    axes.set_ylabel("mean cosine of centred rows" if centred else "mean cosine of rows")


def _figure(measured: Mapping[str, Sequence[Run]], *, state: str, centred: bool) -> Markup:
    key = "centred_cosine_by_lag" if centred else "cosine_by_lag"

    def paint(axes: "Axes") -> None:
        paint_cosines(axes, measured=measured, state=state, centred=centred)

    return panel(
        paint,
        key=f"smoothness-{state}-{'centred' if centred else 'plain'}",
        title=f"{STATES[state]}, {'rows minus their mean' if centred else 'rows as they are'}",
        description="Cosines at lag 1: "
        + "; ".join(
            f"{arm} {fixed(_first(runs[0], state, key))}" for arm, runs in measured.items()
        ),
    )


def _first(run: Run, state: str, key: str) -> float | None:
    cosines = run.part(state, of=run.part("smoothness")).get(key) or [None]
    return cosines[0]


def _by_lag(cosines: Sequence[float | None]) -> Curve:
    points = [(lag, cosine) for lag, cosine in enumerate(cosines, start=1) if cosine is not None]
    return Curve([lag for lag, _ in points], [cosine for _, cosine in points])


def _table(measured: Mapping[str, Sequence[Run]]) -> Markup:
    rows: list[Sequence[Cell]] = []
    for arm, runs in measured.items():
        parts = [run.part("smoothness") for run in runs]
        for state, words in STATES.items():
            tables = [run.part(state, of=part) for run, part in zip(runs, parts, strict=True)]
            rows.append([arm, words.lower(), *(measure.of(tables) for measure in MEASURES)])
        changes = [run.part("change", of=part) for run, part in zip(runs, parts, strict=True)]
        if any(changes):
            rows.append([arm, "change from init", *(each.of(changes) for each in MEASURES)])
        for name in _controls(runs[0]):
            tables = [_controls(run)[name] for run in runs]
            rows.append(
                [
                    arm,
                    f"control: {name.replace('_', ' ')}",
                    *(measure.of(tables) for measure in MEASURES),
                ]
            )
    return data_table(
        key="smoothness-panel",
        caption="The panel. Controls have the shape of the arm's own table; the shuffled one has "
        "its trained rows. Norms of differences are in units of the mean row norm; k95 is the "
        "number of directions that hold 95% of the variance. Translation invariance is 0 where the "
        "product of two rows is a function of their distance: its variance at one lag over the "
        "variance of the lags' means, mean over the lags shown above. Means over seeds.",
        columns=[
            Column(head="arm"),
            Column(head="rows", kind="words"),
            *(Column(head=measure.head) for measure in MEASURES),
        ],
        rows=rows,
    )


def _beside_chance(measured: Mapping[str, Sequence[Run]]) -> Markup:
    """Order beside shuffled rows, overlap beside random subspaces."""
    known = {arm: _with_null(runs) for arm, runs in measured.items()}
    rows = [_chance_row(arm, runs) for arm, runs in known.items() if runs]
    if not rows:
        return Markup("")
    return data_table(
        key="smoothness-chance",
        caption="The trained rows beside chance. Left: their centred neighbour cosine, and that "
        "of the same rows in random orders; p is the share of orders at least as smooth, the rows' "
        "own order counted, and the largest over seeds. Right: mean squared cosine of the "
        "principal angles between the first k directions of the rows and of the token vectors, "
        "beside that of random subspaces; means over seeds.",
        columns=[
            Column(head=head)
            for head in (
                *("arm", "centred", "shuffled, mean", "shuffled, largest", "p", "shuffles"),
                *("k", "overlap with tokens", "random"),
            )
        ],
        rows=rows,
    )


def _with_null(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.part("permutation", of=run.part("smoothness"))]


def _chance_row(arm: str, runs: Sequence[Run]) -> list[Cell]:
    parts = [run.part("smoothness") for run in runs]
    null = [part["permutation"] for part in parts]
    overlap = [run.part("overlap", of=part) for run, part in zip(runs, parts, strict=True)]
    return [
        arm,
        MEASURES[1].of([part["trained"] for part in parts]),
        fixed(spread([each["mean"] for each in null]).mean),
        fixed(max((each["max"] for each in null if each["max"] is not None), default=None)),
        fixed(max((each["p"] for each in null if each["p"] is not None), default=None)),
        count(null[0]["shuffles"]),
        *(
            fixed(spread([each.get(key) for each in overlap]).mean, digits=digits)
            for key, digits in (("k", 0), ("mean_squared_cosine", 3), ("random", 3))
        ),
    ]


SECTION = Section(
    key="smoothness",
    title="Smoothness against lag",
    source="results.json (smoothness)",
    html=_html,
)
