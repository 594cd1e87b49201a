"""The length curve as one picture that stands by itself: what the README opens with."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from andrea_exp.component import Refusal
from andrea_exp.record.reader import Survey
from andrea_exp.report.arms import Policy, policies
from andrea_exp.report.figure import mean_curve, standalone
from andrea_exp.report.palette import MUTED, WASH
from andrea_exp.report.sections.lengths import describe_lengths, paint_lengths
from andrea_exp.report.table import Table, table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 6.4, 4.2
"""Inches: letters stay readable where the picture is shrunk to a telephone's width."""
APART = 0.115
"""Least distance of two labels, as a share of the height of the axes."""
SMALL = 7.8
"""Size of the letters that are read second, points."""


def picture(found: Survey) -> str:
    """Block loss against length as an SVG document, each line named at its end.

    Raises:
        Refusal: no run has scored a length.
    """
    table = table_of(found)
    shown = [policy for policy in policies(table) if policy.curves("loss_nats", protocol="block")]
    if not shown:
        raise Refusal("none of these runs has scored a length yet; let one complete first")

    def paint(axes: "Axes") -> None:
        paint_lengths(axes, table=table, shown=shown, protocol="block")
        if table.trained_length is not None:
            _shade_past(axes, table.trained_length)
        _name_lines(axes, [policy for policy in shown if _reaches_past(policy)] or shown, table)

    return standalone(
        paint,
        width=WIDTH,
        height=HEIGHT,
        title="Loss against the length of the window",
        description=describe_lengths(table, shown, protocol="block"),
    )


def _shade_past(axes: "Axes", length: float) -> None:
    """A ground of its own for the lengths that no training window had."""
    low, high = axes.get_xlim()
    axes.axvspan(length, high, color=WASH.light, linewidth=0, zorder=0)
    axes.set_xlim(low, high)
    axes.annotate(
        "longer than in training",
        (length, 1),
        xycoords=("data", "axes fraction"),
        xytext=(5, -4),
        textcoords="offset points",
        va="top",
        color=MUTED.light,
        fontsize=SMALL,
    )


def _reaches_past(policy: Policy) -> bool:
    """Whether its line goes past T; where it is refused there, its further policies name it."""
    return max(_line_end(policy)[0], 0) > min(policy.rows.filter(factor=1).get_column("length"))


def _line_end(policy: Policy) -> tuple[float, float]:
    middle = mean_curve(policy.curves("loss_nats", protocol="block"))
    return middle.x[-1], middle.y[-1]


def _name_lines(axes: "Axes", shown: Sequence[Policy], table: Table) -> None:
    """Arm and policy beside the ends of the lines, moved apart where they would touch."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    ends = [_line_end(policy) for policy in shown]
    apart = min(APART, 1 / len(shown))
    heights = spaced([(y - low) / (high - low) for _, y in ends], apart=apart)
    for policy, end, height in zip(shown, ends, heights, strict=True):
        axes.annotate(
            f"{policy.arm}\n",
            end,
            xytext=(1.05, height),
            textcoords="axes fraction",
            va="center",
            fontweight="bold",
            arrowprops={
                "arrowstyle": "-",
                "color": policy.style.ink.light,
                "linewidth": 0.7,
                "relpos": (0, 0.5),
                "shrinkA": 3,
                "shrinkB": 4,
            },
        )
        axes.annotate(
            f"\n{_told_past(policy, policies(table))}",
            (1.05, height),
            xycoords="axes fraction",
            va="center",
            color=MUTED.light,
            fontsize=SMALL,
        )


def _told_past(policy: Policy, beside: Iterable[Policy]) -> str:
    """What happens past T; of a policy scored beside one that refuses, both."""
    refused = any(other.arm == policy.arm and _refuses(other) for other in beside)
    if refused and not policy.declared:
        return f"refused past T; {policy.beyond} shown"
    return f"past T: {policy.beyond}"


def _refuses(policy: Policy) -> bool:
    longest = max(policy.rows.get_column("factor"))
    return policy.refused(factor=longest)


def spaced(heights: Sequence[float], *, apart: float) -> list[float]:
    """Heights from 0 to 1 moved as little as it takes to be `apart`, in their order."""
    order = sorted(range(len(heights)), key=lambda index: heights[index])
    placed = dict[int, float]()
    floor = 0.0
    for index in order:
        placed[index] = max(heights[index], floor)
        floor = placed[index] + apart
    ceiling = 1.0
    for index in reversed(order):
        placed[index] = min(placed[index], ceiling)
        ceiling = placed[index] - apart
    return [placed[index] for index in range(len(heights))]
