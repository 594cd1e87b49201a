"""Loss by position in the window: where in a window a scheme is good, and where it breaks."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from andrea_exp.report.arms import Policy, policies
from andrea_exp.report.figure import (
    Curve,
    arm_lines,
    floor_line,
    mark_trained_length,
    panel,
    position_axis,
)
from andrea_exp.report.format import fixed, multiple
from andrea_exp.report.markup import legend, nothing, panels, paragraph
from andrea_exp.report.palette import Style
from andrea_exp.report.sections.base import Section
from andrea_exp.report.spread import spread
from andrea_exp.report.table import Run, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Profile(NamedTuple):
    """Loss by position of one arm at one length, one curve per seed."""

    label: str
    style: Style
    curves: list[Curve]


def _html(table: Table) -> Markup:
    at_trained = list(_profiles(table, factor=1))
    if not at_trained:
        return nothing("No run has losses by position yet.")
    longest = max(
        (factor for run in table.completed for factor in _scored_factors(run)), default=1.0
    )
    far = list(_profiles(table, factor=longest)) if longest > 1 else []
    explanation = (
        "Mean loss of the targets at each position of a window, block protocol. The first ones "
        "see almost no text before them. Past T, each line carries its policy."
    )
    figures = [
        _figure(table, at_trained, factor=1, key="trained"),
        *([_figure(table, far, factor=longest, key="far")] if far else []),
    ]
    looks = {profile.label: profile.style for profile in far}
    shown = list(looks.values())
    looks |= {profile.label: profile.style for profile in at_trained if profile.style not in shown}
    return Markup("").join([paragraph(explanation), legend(looks), panels(figures)])


def _profiles(table: Table, *, factor: float) -> Iterator[Profile]:
    for policy in policies(table):
        if factor <= 1 and not policy.declared:
            continue
        runs = table.arms[policy.arm]
        curves = [curve for run in runs if (curve := _curve(run, policy, factor=factor)).x]
        if curves:
            label = policy.label if factor > 1 else policy.arm
            yield Profile(label, policy.style, curves)


def _curve(run: Run, policy: Policy, *, factor: float) -> Curve:
    for row in _block_rows(run):
        if row["factor"] == factor and row["beyond"] == policy.beyond:
            buckets: Sequence[Mapping[str, float]] = row["per_position"] or []
            middles = [_middle(bucket) for bucket in buckets]
            return Curve(middles, [bucket["loss_nats"] for bucket in buckets])
    return Curve([], [])


def _middle(bucket: Mapping[str, float]) -> float:
    """Where a bucket stands on a logarithmic axis, positions counted from 1."""
    return math.sqrt((bucket["start"] + 1) * bucket["stop"])


def _block_rows(run: Run) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = (run.record.results or {}).get("lengths") or []
    return [row for row in rows if row["protocol"] == "block" and row["status"] == "ok"]


def _scored_factors(run: Run) -> list[float]:
    return [row["factor"] for row in _block_rows(run) if row["per_position"]]


def _floor(table: Table, *, factor: float) -> Curve:
    """The least loss possible at each position where it is known and the same for all runs."""
    found = {
        tuple((_middle(bucket), bucket.get("floor_nats")) for bucket in row["per_position"] or [])
        for run in table.completed
        for row in _block_rows(run)
        if row["factor"] == factor
    }
    points = found.pop() if len(found) == 1 else ()
    known = [(place, level) for place, level in points if level is not None]
    return Curve([place for place, _ in known], [level for _, level in known])


def _figure(table: Table, profiles: Sequence[Profile], *, factor: float, key: str) -> Markup:
    floor = _floor(table, factor=factor)

    def paint(axes: "Axes") -> None:
        for profile in profiles:
            arm_lines(axes, profile.curves, style=profile.style, every_point=False)
        if floor.x:
            floor_line(axes, floor)
        last = max(x for profile in profiles for curve in profile.curves for x in curve.x)
        position_axis(axes, last=last)
        if table.trained_length is not None and last > table.trained_length:
            mark_trained_length(axes, table.trained_length)
        axes.set_ylabel("loss, nats per token")

    return panel(
        paint,
        key=f"positions-{key}",
        title=f"Windows of {multiple(factor)}" if factor > 1 else "Windows of the trained length T",
        description=_description(profiles),
    )


def _description(profiles: Sequence[Profile]) -> str:
    def end(profile: Profile, index: int) -> str:
        return fixed(spread([curve.y[index] for curve in profile.curves]).mean)

    return "; ".join(
        f"{profile.label}: {end(profile, 0)} at the start of a window, {end(profile, -1)} at its "
        "end"
        for profile in profiles
    )


SECTION = Section(
    key="positions",
    title="Loss by position",
    source="results.json (lengths, per_position)",
    html=_html,
)
