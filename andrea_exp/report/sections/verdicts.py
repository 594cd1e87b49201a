"""The claims of an experiment with their verdicts, in words, as a table and as a figure."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from andrea_exp.evidence.rule import ALPHA, Kind, Verdict
from andrea_exp.report.figure import HEIGHT, panel
from andrea_exp.report.format import (
    fixed,
    listing,
    multiple,
    numbering,
    probability,
    quantity,
    signed,
)
from andrea_exp.report.markup import Cell, Column, data_table, nothing, panels, paragraph
from andrea_exp.report.palette import MUTED, SERIES, TEXT
from andrea_exp.report.registration import Registration, registration
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from andrea_exp.claims.config import ClaimConfig
    from andrea_exp.claims.judge import Judgement

DIGITS = 4


def in_words(table: Table) -> Markup:
    """The verdicts in sentences; nothing for runs that belong to no claims."""
    found = registration(table)
    if found is None:
        return Markup()
    items = Markup("").join(
        Markup("<li><strong>{}:</strong> {} {}</li>").format(
            judgement.verdict.name.capitalize(), judgement.claim.statement, _evidence(judgement)
        )
        for judgement in found.judgements
    )
    return paragraph(_count(found)) + Markup('<ul class="verdicts">{}</ul>').format(items)


def _html(table: Table) -> Markup:
    found = registration(table)
    if found is None:
        return nothing("These runs belong to no experiment with claims.")
    rule = (
        f"Claims and seeds ({numbering(found.seeds)}) were fixed before the first run; together "
        f"they have the hash {found.digest}. A claim is confirmed or refuted if Student's t on the "
        "paired differences passes Holm's correction over the family of "
        f"{len(found.judgements)} at {ALPHA:g} and the exact sign-flip test does at {ALPHA:g}, by "
        "the side of its margin on which the mean lies. Anything else is undecided, which is no "
        "evidence of equality."
    )
    parts = [paragraph(rule), *map(_remark, _remarks(found)), _table(found)]
    drawn = [each for each in found.judgements if each.differences and each.claim.margin]
    if drawn:
        parts.append(panels([_forest(drawn)]))
    parts.append(_seeds(found))
    return Markup("").join(parts)


def _count(found: Registration) -> str:
    counts = [
        (verdict.name, sum(each.verdict is verdict for each in found.judgements))
        for verdict in Verdict
    ]
    told = [f"{number} {name}" for name, number in counts if number]
    return f"Of {quantity(len(found.judgements), 'claim')}, {listing(told)}."


def _evidence(judgement: "Judgement") -> str:
    """What the verdict rests on, in a sentence."""
    if judgement.claim.kind is Kind.solved and judgement.seeds:
        return f"{_solved(judgement)}. {_why(judgement)}".strip()
    if judgement.mean is None or judgement.interval is None:
        return _why(judgement)
    low, high = judgement.interval
    return (
        f"{_what(judgement.claim)}: {signed(judgement.mean)} [{signed(low)}, {signed(high)}], "
        f"margin {judgement.claim.margin:g}, {quantity(len(judgement.seeds), 'seed')}. "
        f"{_why(judgement)}"
    ).strip()


def _why(judgement: "Judgement") -> str:
    reasons = [judgement.why] if judgement.why else []
    if judgement.skewed:
        reasons.append(
            "the differences are strongly skewed, where the rule decides falsely more often than "
            "it says"
        )
    return f"{'; '.join(reasons)[:1].upper()}{'; '.join(reasons)[1:]}." if reasons else ""


def _what(claim: "ClaimConfig") -> str:
    """The difference that is judged, oriented as the verdict reads it."""
    metric = claim.metric if claim.minus is None else f"{claim.metric} minus {claim.minus}"
    if claim.factor is not None and claim.protocol is not None:
        metric += f" at {multiple(claim.factor)}, {claim.protocol.name}"
    if claim.direction is None:
        return f"Difference in {metric}"
    return f"Gain in {metric} ({claim.direction.name} is better)"


def _arms(claim: "ClaimConfig") -> str:
    return f"{' '.join(claim.arm)} against {' '.join(claim.than or ['0'])}"


def _solved(judgement: "Judgement") -> str:
    counts = [
        sum(judgement.claim.solves(side.values[seed]) for seed in judgement.seeds)
        for side in (judgement.first, judgement.second)
    ]
    return f"Solved by {counts[0]} and {counts[1]} of {quantity(len(judgement.seeds), 'seed')}"


def _remarks(found: Registration) -> Iterator[str]:
    if found.edited:
        changes = listing([f"{each.name} ({each.what})" for each in found.edited])
        yield (
            f"Claims were edited after the first run: {changes}. The verdicts are on what was "
            "claimed first; what came later is not judged."
        )
    if found.exploratory:
        yield (
            f"Seeds {numbering(found.exploratory)} were not planned: exploratory, and part of no "
            "verdict."
        )
    if found.forged:
        yield (
            f"The claims in config.yaml of {listing(found.forged)} do not have the hash that they "
            "were frozen with: that file was changed."
        )


def _remark(text: str) -> Markup:
    return Markup('<p class="remark">{}</p>').format(text)


def _table(found: Registration) -> Markup:
    return data_table(
        key="verdicts-table",
        caption="Mean of the paired differences, oriented so that larger is better; in brackets "
        "the t interval at the level at which Holm's correction tests the claim, so that it leaves "
        "out the margin exactly if t does. The bootstrap interval at the same level describes the "
        "sample and decides nothing.",
        columns=[
            Column(head="claim"),
            Column(head="verdict", kind="words"),
            Column(head="what is compared", kind="prose"),
            Column(head="difference"),
            Column(head="margin"),
            Column(head="pairs"),
            Column(head="p, Holm"),
            Column(head="p, signs"),
        ],
        rows=[_row(judgement) for judgement in found.judgements],
    )


def _row(judgement: "Judgement") -> Sequence[Cell]:
    claim = judgement.claim
    return [
        claim.name,
        judgement.verdict.name,
        Markup('{}<br><span class="note">{} Source: {}</span>').format(
            f"{_what(claim)}: {_arms(claim)}", _why(judgement), claim.source
        ),
        _difference(judgement),
        f"{'±' if claim.kind is Kind.within else ''}{claim.margin:g}",
        str(len(judgement.seeds)),
        probability(judgement.adjusted_p),
        probability(judgement.sign_p),
    ]


def _difference(judgement: "Judgement") -> Cell:
    if judgement.claim.kind is Kind.solved and judgement.seeds:
        return _solved(judgement)
    if judgement.interval is None or judgement.bootstrap is None:
        return signed(judgement.mean)
    between, drawn = (
        f"[{signed(low)}, {signed(high)}]"
        for low, high in (judgement.interval, judgement.bootstrap)
    )
    return Markup('{} {}<br><span class="note">bootstrap {}</span>').format(
        signed(judgement.mean), between, drawn
    )


def _forest(drawn: "Sequence[Judgement]") -> Markup:
    def paint(axes: "Axes") -> None:
        for place, judgement in enumerate(reversed(drawn)):
            _paint_claim(axes, judgement, place=place)
        axes.axvline(0, color=MUTED.light, linewidth=0.8)
        axes.axvline(1, color=TEXT.light, linewidth=1)
        if any(each.claim.kind is Kind.within for each in drawn):
            axes.axvline(-1, color=TEXT.light, linewidth=1)
        axes.margins(x=0.08)
        axes.set_xscale("symlog", linthresh=2, linscale=1)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_yticks(range(len(drawn)), [each.claim.name for each in reversed(drawn)])
        axes.set_ylim(-0.6, len(drawn) - 0.4)
        axes.grid(visible=False, axis="y")
        axes.set_xlabel("difference in units of its margin")

    return panel(
        paint,
        key="verdicts-forest",
        title="Differences in units of their margins: 1 is the margin",
        height=max(HEIGHT, 0.9 + 0.25 * len(drawn)),
        description="; ".join(
            f"{each.claim.name}: {signed(each.mean)}, {each.verdict.name}" for each in drawn
        ),
    )


def _paint_claim(axes: "Axes", judgement: "Judgement", *, place: int) -> None:
    margin = judgement.claim.margin
    ink = SERIES[0] if judgement.verdict is not Verdict.undecided else MUTED
    scaled = [value / margin for value in judgement.differences]
    axes.scatter(scaled, [place] * len(scaled), s=7, color=ink.light, alpha=0.5, linewidths=0)
    if judgement.interval is not None and judgement.mean is not None and len(scaled) > 1:
        low, high = (end / margin for end in judgement.interval)
        axes.plot([low, high], [place, place], color=ink.light, linewidth=1.4)
        axes.plot([judgement.mean / margin], [place], marker="D", markersize=4, color=ink.light)


def _seeds(found: Registration) -> Markup:
    """Every seed of every claim, with the run that it came from."""
    rows: list[Sequence[Cell]] = []
    for judgement in found.judgements:
        for seed in found.seeds:
            sides = (judgement.first, judgement.second)
            missing = [side.missing[seed] for side in sides if seed in side.missing]
            rows.append(
                [
                    judgement.claim.name,
                    str(seed),
                    *(fixed(side.values.get(seed), digits=DIGITS) for side in sides),
                    Markup(" ").join(
                        Markup("<code>{}</code>").format(side.runs[seed])
                        for side in sides
                        if seed in side.runs
                    ),
                    "; ".join(missing),
                ]
            )
    return data_table(
        key="verdicts-seeds",
        caption="Every planned seed of every claim, and the recipes of the runs that it rests on. "
        "A seed that one side lacks is left out of the pair.",
        columns=[
            Column(head="claim"),
            Column(head="seed"),
            Column(head="first arm"),
            Column(head="second arm"),
            Column(head="runs"),
            Column(head="why not", kind="prose"),
        ],
        rows=rows,
    )


SECTION = Section(
    key="verdicts",
    title="Claims and verdicts",
    source="config.yaml (seeds, claims), results.json (what each claim names)",
    html=_html,
)
