"""Token rows before and after training: pairs, classes of words, and nearest neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from andrea_exp.report.format import MISSING, fixed, quantity, signed
from andrea_exp.report.markup import Cell, Column, data_table, nothing, paragraph, with_note
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import ENOUGH_SEEDS, paired, spread, written
from andrea_exp.report.table import Run, Table

Values = Mapping[str, Any]
Arms = Mapping[str, Sequence[Run]]
STATES = ("init", "trained")
NORMS = ("first", "second")
EXPLANATION = (
    "Rows that are drawn independently are nearly orthogonal before any training, so a small "
    "cosine afterwards says nothing by itself: what counts is the rise from init. Input rows come "
    "to say what a token is followed by, output rows what it follows; with a tied output one table "
    "does both."
)
ABOUT_CLASSES = (
    "The class measure is the mean cosine of two different words of a class minus that of its "
    "words and those of other classes. One pair can fall by chance where its class rises."
)


def _html(table: Table) -> Markup:
    arms = {arm: [run for run in runs if run.part("geometry")] for arm, runs in table.arms.items()}
    arms = {arm: runs for arm, runs in arms.items() if runs}
    if not arms:
        return nothing(
            "No run has compared token rows: there were no results, or no pairs to compare "
            "(evaluation.pairs names some)."
        )
    measured = [run for runs in arms.values() for run in runs]
    parts = [paragraph(EXPLANATION), _pairs(arms), *_contrasts(arms)]
    parts.append(_neighbours(measured[0]) if len(measured) == 1 else _where_neighbours_are())
    return Markup("").join(parts)


def _sides(run: Run) -> dict[str, Values]:
    """The measured tables of a run by what their rows are."""
    found = run.part("geometry")
    if found["tied"]:
        return {"input = output": found["input"]}
    return {side: found[side] for side in ("input", "output")}


def _pairs(arms: Arms) -> Markup:
    spreads = {
        side["random_cosine_sd"]
        for runs in arms.values()
        for run in runs
        for side in _sides(run).values()
    }
    chance = ", ".join(fixed(each) for each in sorted(spreads))
    heads = [f"{what} {when}" for what in ("cosine", "dot", "norms") for when in ("at init", "now")]
    return data_table(
        key="geometry-pairs",
        caption="Pairs of token rows at init and now, after training. The cosine of two "
        f"independent random rows of this width has a standard deviation of {chance}. Means over "
        "seeds.",
        columns=[
            Column(head="arm"),
            Column(head="rows", kind="words"),
            Column(head="pair", kind="words"),
            *(Column(head=head) for head in heads),
        ],
        rows=[row for arm, runs in arms.items() for row in _pair_rows(arm, runs)],
    )


def _pair_rows(arm: str, runs: Sequence[Run]) -> Iterator[list[Cell]]:
    for side, shown in _sides(runs[0]).items():
        for pair in shown["pairs"]:
            name = f"{pair['first']}, {pair['second']}"
            yield [arm, side, name, *_pair_cells(runs, side, name)]


def _pair_cells(runs: Sequence[Run], side: str, name: str) -> Iterator[Cell]:
    found = [
        pair
        for run in runs
        for pair in _sides(run).get(side, {}).get("pairs") or []
        if f"{pair['first']}, {pair['second']}" == name
    ]
    for key in ("cosine", "dot"):
        for state in STATES:
            yield written([pair[state][key] for pair in found])
    for state in STATES:
        norms = [spread([pair[state][f"{one}_norm"] for pair in found]).mean for one in NORMS]
        yield ", ".join(fixed(norm) for norm in norms)


def _contrasts(arms: Arms) -> list[Markup]:
    rows = [row for arm, runs in arms.items() for row in _contrast_rows(arm, runs)]
    if not rows:
        return []
    classes = {each["name"] for runs in arms.values() for _, each in _measured(runs)}
    seeds = max(len(runs) for runs in arms.values())
    remark = (
        f" With {quantity(seeds, 'seed')} per arm this is a screen and no verdict (that takes "
        f"{ENOUGH_SEEDS} or more)."
    )
    heads = ("at init", "after training", "rise", "within, after training", "across")
    return [
        paragraph(ABOUT_CLASSES + (remark if seeds < ENOUGH_SEEDS else "")),
        data_table(
            key="geometry-classes",
            caption=f"The class measure of {', '.join(sorted(classes))}: every seed, and the mean "
            "with the 95% t interval of the rise over seeds where there are two or more. Across: "
            "mean cosine with the words of all other classes, and by class, after training.",
            columns=[
                Column(head="arm"),
                Column(head="rows", kind="words"),
                Column(head="seed"),
                *(Column(head=head) for head in heads),
                Column(head="by class", kind="prose"),
            ],
            rows=rows,
        ),
    ]


def _measured(runs: Sequence[Run], side: str | None = None) -> list[tuple[Run, Values]]:
    """The runs that have the class measure, once for each table or for one of them."""
    return [
        (run, found["contrast"])
        for run in runs
        for name, found in _sides(run).items()
        if found.get("contrast") and side in {None, name}
    ]


def _contrast_rows(arm: str, runs: Sequence[Run]) -> Iterator[list[Cell]]:
    for side in _sides(runs[0]):
        measured = _measured(runs, side)
        for run, found in measured:
            rise = signed(found["rise"])
            yield [arm, side, str(run.seed), *_contrast_cells([found], rise=rise)]
        if len(measured) > 1:
            every = [found for _, found in measured]
            yield [arm, side, f"all {len(every)}", *_contrast_cells(every, rise=_interval(every))]


def _contrast_cells(found: Sequence[Values], *, rise: Cell) -> list[Cell]:
    def mean(state: str, key: str) -> float | None:
        return spread([each[state][key] for each in found]).mean

    classes = {
        name: spread([each["trained"]["to"].get(name) for each in found]).mean
        for name in found[0]["trained"]["to"]
    }
    return [
        *(signed(mean(state, "difference")) for state in STATES),
        rise,
        fixed(mean("trained", "within")),
        fixed(mean("trained", "across")),
        ", ".join(f"{name} {fixed(cosine)}" for name, cosine in classes.items()),
    ]


def _interval(found: Sequence[Values]) -> Cell:
    rise = paired([each["rise"] for each in found])
    return with_note(signed(rise.mean), f"[{signed(rise.low)}, {signed(rise.high)}]")


def _neighbours(run: Run) -> Markup:
    return data_table(
        key="geometry-neighbours",
        caption="The tokens whose rows point most nearly the same way after training, with their "
        "cosines.",
        columns=[
            Column(head="token"),
            Column(head="rows", kind="words"),
            Column(head="nearest", kind="prose"),
        ],
        rows=[
            [each["token"], side, _near(each["nearest"])]
            for side, found in _sides(run).items()
            for each in found["neighbours"]
        ],
    )


def _near(nearest: Sequence[Values]) -> str:
    listed = [f"{each['token']} {fixed(each['cosine'], digits=2)}" for each in nearest]
    return "; ".join(listed) or MISSING


def _where_neighbours_are() -> Markup:
    return paragraph(
        "Nearest neighbours of a token are shown for one run: python -m andrea_exp.diagnose RUN "
        "--neighbours TEXT, or the run's own report."
    )


SECTION = Section(
    key="geometry",
    title="Token rows",
    source="results.json (geometry)",
    html=_html,
)
