"""The length curve as one picture that stands by itself: what the README opens with."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from andrea_exp.component import Refusal
from andrea_exp.record.reader import RunRecord
from andrea_exp.report.arms import Policy, policies
from andrea_exp.report.figure import mean_curve, standalone
from andrea_exp.report.sections.lengths import describe_lengths, paint_lengths
from andrea_exp.report.table import table_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 8.4, 4.2
"""Inches."""
APART = 0.062
"""Least distance of two labels, as a share of the height of the axes."""


def picture(records: Sequence[RunRecord]) -> str:
    """Block loss against length as an SVG document, each line named at its end.

    Raises:
        Refusal: no run has scored a length.
    """
    table = table_of(records)
    shown = [policy for policy in policies(table) if policy.curves("loss_nats", protocol="block")]
    if not shown:
        raise Refusal("none of these runs has scored a length yet; let one complete first")

    def paint(axes: "Axes") -> None:
        paint_lengths(axes, table=table, shown=shown, protocol="block")
        _name_lines(axes, [policy for policy in shown if _reaches_past(policy)] or shown)

    return standalone(
        paint,
        width=WIDTH,
        height=HEIGHT,
        title="Loss against the length of the window",
        description=describe_lengths(table, shown, protocol="block"),
    )


def _reaches_past(policy: Policy) -> bool:
    """Whether its line goes past T; where it is refused there, its further policies name it."""
    return max(_line_end(policy)[0], 0) > min(policy.rows.filter(factor=1).get_column("length"))


def _line_end(policy: Policy) -> tuple[float, float]:
    middle = mean_curve(policy.curves("loss_nats", protocol="block"))
    return middle.x[-1], middle.y[-1]


def _name_lines(axes: "Axes", shown: Sequence[Policy]) -> None:
    """Labels beside the ends of the lines, moved apart where they would touch."""
    low, high = axes.get_ylim()
    axes.set_ylim(low, high)
    ends = [_line_end(policy) for policy in shown]
    heights = spaced([(y - low) / (high - low) for _, y in ends], apart=APART)
    for policy, (x, y), height in zip(shown, ends, heights, strict=True):
        axes.annotate(
            policy.label,
            (x, y),
            xycoords="data",
            xytext=(1.03, height),
            textcoords="axes fraction",
            va="center",
            fontsize=8.5,
            arrowprops={
                "arrowstyle": "-",
                "color": policy.style.ink.light,
                "linewidth": 0.7,
                "relpos": (0, 0.5),
                "shrinkA": 3,
                "shrinkB": 4,
            },
        )


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
