"""Figures as SVG inside the page: its text is text, its colours are the page's own variables.

Drawn with matplotlib's objects alone: no pyplot, no window system, no state left behind, and no
setting of the machine's own (`matplotlibrc`, locale) is read.
"""

import io
import math
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

from markupsafe import Markup

from andrea_exp.report.format import multiple
from andrea_exp.report.palette import GROUND, INKS, MUTED, RULE, TEXT, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 4.3, 3.0
"""Inches: a panel keeps readable letters on a screen of 390 pixels."""
SPARSE = 0.19
"""Distance of markers along a line of many points, as a share of the diagonal of the axes."""


class Curve(NamedTuple):
    """One line: x and y, with no y where nothing was measured."""

    x: Sequence[float]
    y: Sequence[float]


def panel(
    paint: Callable[["Axes"], None],
    *,
    key: str,
    title: str,
    description: str,
    height: float = HEIGHT,
) -> Markup:
    """One pair of axes as a figure with a title and an alternative text.

    Args:
        paint: draws on the axes.
        key: unlike that of every other figure of the page; its ids begin with it.
        title: a few words, shown above.
        description: what a reader who does not see the figure should know.
        height: in inches, beside WIDTH.
    """
    svg = _inline(_draw(paint, width=WIDTH, height=height, glyphs=False), key=key)
    return Markup(
        '<figure class="panel"><figcaption id="{key}-title">{title}</figcaption>'
        '<svg role="img" aria-labelledby="{key}-title" aria-describedby="{key}-text" {rest}'
        '<p class="unseen" id="{key}-text">{description}</p></figure>'
    ).format(key=key, title=title, description=description, rest=Markup(svg))


def standalone(
    paint: Callable[["Axes"], None], *, width: float, height: float, title: str, description: str
) -> str:
    """One pair of axes as an SVG document that follows the reader's light or dark setting."""
    svg = _inline(_draw(paint, width=width, height=height, glyphs=True), key="picture")
    themes = " ".join(f"{ink.variable}: {ink.light};" for ink in INKS)
    night = " ".join(f"{ink.variable}: {ink.dark};" for ink in INKS)
    head = Markup("<title>{}</title><desc>{}</desc>").format(title, description)
    opening, _, body = svg.partition(">")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {opening}>\n{head}\n'
        f"<style>:root {{ {themes} }} @media (prefers-color-scheme: dark) {{ :root {{ {night} }} }}"
        " * { stroke-linejoin: round }</style>\n"
        f'<rect width="100%" height="100%" style="fill: var(--ground)"/>{body}\n'
    )


def png(paint: Callable[["Axes"], None]) -> bytes:
    """One pair of axes as a PNG picture, for views that show no SVG."""
    written = io.BytesIO()
    with _axes(paint, width=WIDTH, height=HEIGHT, glyphs=True) as figure:
        figure.savefig(written, format="png", dpi=200)
    return written.getvalue()


def arm_lines(
    axes: "Axes",
    curves: Sequence[Curve],
    *,
    style: Style,
    every_point: bool,
    unfinished: Sequence[Curve] = (),
) -> None:
    """The curves of one arm: with several seeds each one thin, and their mean on top.

    Args:
        axes: where to draw.
        curves: one per seed.
        style: of the arm.
        every_point: a marker on each point; otherwise a few, to know the line by.
        unfinished: curves that are drawn thin and left out of the mean.
    """
    colour, dash = style.ink.light, (0, style.dash) if style.dash else "solid"
    thin = _joined([*(curves if len(curves) > 1 else []), *unfinished])
    axes.plot(thin.x, thin.y, color=colour, linewidth=0.6, linestyle=dash, alpha=0.55)
    middle = mean_curve(curves)
    axes.plot(
        middle.x,
        middle.y,
        color=colour,
        linewidth=1.7,
        linestyle=dash,
        marker=style.marker.code,
        markersize=4.2,
        markevery=None if every_point else SPARSE,
        markerfacecolor=GROUND.light if style.hollow else colour,
    )


def _joined(curves: Sequence[Curve]) -> Curve:
    """Several curves as one with gaps: a hundred seeds are drawn as fast as one."""
    gap = [math.nan]
    return Curve(
        [x for curve in curves for x in [*curve.x, *gap]],
        [y for curve in curves for y in [*curve.y, *gap]],
    )


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean at every x that all curves have."""
    tables = [dict(zip(curve.x, curve.y, strict=True)) for curve in curves]
    shared = sorted(set[float](tables[0]).intersection(*tables[1:])) if tables else []
    return Curve(shared, [fmean(table[x] for table in tables) for x in shared])


def baselines(axes: "Axes", levels: Mapping[str, float], *, side: Literal["left", "right"]) -> None:
    """Horizontal lines that say what little knowledge reaches, named at one edge."""
    for name, level in levels.items():
        axes.axhline(level, color=MUTED.light, linewidth=0.8, linestyle=(0, (1, 2)))
        axes.annotate(
            f"{name} {level:.2f}",
            (0 if side == "left" else 1, level),
            xycoords=("axes fraction", "data"),
            xytext=(3 if side == "left" else -2, 2),
            textcoords="offset points",
            ha=side,
            color=MUTED.light,
            fontsize=7.5,
        )


def floor_line(axes: "Axes", curve: Curve) -> None:
    """The least loss possible at each x, named below its right end; to be drawn last."""
    axes.plot(curve.x, curve.y, color=MUTED.light, linewidth=1.1, linestyle=(0, (1, 2)))
    axes.annotate(
        f"floor {curve.y[-1]:.2f}",
        (curve.x[-1], curve.y[-1]),
        xytext=(0, -9),
        textcoords="offset points",
        ha="right",
        color=MUTED.light,
        fontsize=7.5,
    )
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.05 * (high - low), high)


def mark_trained_length(axes: "Axes", length: float) -> None:
    """A vertical line where the training windows end."""
    axes.axvline(length, color=MUTED.light, linewidth=1)
    axes.annotate(
        f"T = {length}",
        (length, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=MUTED.light,
        fontsize=8,
    )


def length_axis(axes: "Axes", lengths: Sequence[int], *, trained: int | None) -> None:
    """A logarithmic axis in tokens, ticked at the lengths that were scored."""
    axes.set_xscale("log", base=2)
    names = [
        f"{length}\n{multiple(length / trained)}" if trained else str(length) for length in lengths
    ]
    axes.set_xticks(lengths, names)
    axes.minorticks_off()
    axes.set_xlabel("length of the window, tokens")


def position_axis(axes: "Axes", *, last: float) -> None:
    """A logarithmic axis of positions, counted from 1: powers of two up to the end of the window.

    Every second one in a long window.
    """
    powers = math.ceil(math.log2(max(last, 2)))
    ticks = [2**power for power in range(0, powers + 1, 1 + powers // 11)]
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlim(1, 1.06 * 2**powers)
    axes.minorticks_off()
    axes.set_xlabel("position in the window, tokens from its start")


def whole_numbers(axes: "Axes") -> None:
    """Tick the horizontal axis at whole numbers only: steps and lags have no halves."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415

    axes.xaxis.set_major_locator(MaxNLocator(nbins="auto", integer=True))


def _draw(paint: Callable[["Axes"], None], *, width: float, height: float, glyphs: bool) -> str:
    written = io.StringIO()
    nothing = dict.fromkeys(["Creator", "Date", "Format", "Type"])
    with _axes(paint, width=width, height=height, glyphs=glyphs) as figure:
        figure.savefig(written, format="svg", metadata=nothing, transparent=True)
    return written.getvalue()


@contextmanager
def _axes(
    paint: Callable[["Axes"], None], *, width: float, height: float, glyphs: bool
) -> Generator["Figure"]:
    """A painted figure, to be saved inside the block, under the settings it was made with."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    with _settings(glyphs=glyphs):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        axes.grid(visible=True, axis="y")
        paint(axes)
        yield figure


@contextmanager
def _settings(*, glyphs: bool) -> Generator[None]:
    import matplotlib as mpl  # noqa: PLC0415

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "svg.hashsalt": "andrea_exp",
                "svg.fonttype": "path" if glyphs else "none",
                "font.size": 9,
                "axes.edgecolor": MUTED.light,
                "axes.labelcolor": TEXT.light,
                "axes.linewidth": 0.7,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.unicode_minus": True,
                "grid.color": RULE.light,
                "grid.linewidth": 0.6,
                "text.color": TEXT.light,
                "xtick.color": MUTED.light,
                "ytick.color": MUTED.light,
                "xtick.labelcolor": TEXT.light,
                "ytick.labelcolor": TEXT.light,
                "xtick.major.width": 0.7,
                "ytick.major.width": 0.7,
            }
        )
        yield


def _inline(document: str, *, key: str) -> str:
    """A document's drawing without its head: what follows `<svg ` in the page."""
    svg = document[document.index("<svg ") :]
    box = re.search(r'viewBox="[^"]*"', svg)
    body = svg[svg.index("</defs>") + len("</defs>") :]
    body = body.replace("xlink:href", "href")
    body = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{key}-", body)
    body = re.sub(r"font-family: [^;\"]*;? ?", "", body)
    body = re.sub(r"<!--.*?-->\s*", "", body, flags=re.DOTALL)
    body = re.sub(r"\n\s*", "\n", body)
    body = re.sub(r'\bd="[^"]*"', lambda path: _short(path.group()), body)
    for ink in INKS:
        body = body.replace(ink.light, f"var({ink.variable})")
    return f"{box.group(0) if box else ''}>{body.strip()}"


def _short(path: str) -> str:
    """A path to the hundredth of a point, past which nobody sees, without room around letters."""
    cut = re.sub(r"(?<=\.\d\d)\d+", "", path)
    return cut.replace("\n", "").replace(" L ", "L").replace("M ", "M")
