"""What a line looks like: one colour and marker per position scheme, one dash per other choice.

The eight colours were searched for distance, not taste: any two of them stay apart in normal
vision and under the three colour-vision deficiencies (simulated after Machado et al. 2009), and
each has a contrast of at least 3 with its ground, light or dark. A test repeats the measurement.
"""

from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup


class Ink(NamedTuple):
    """A colour of the page: its variable in CSS and its value on a light and a dark ground."""

    variable: str
    light: str
    dark: str


class Marker(NamedTuple):
    """A point of a line: in figures, and as an SVG path around (17, 6) in legends."""

    code: str
    """In matplotlib's alphabet."""
    outline: str


GROUND = Ink("--ground", "#ffffff", "#15181b")
WASH = Ink("--wash", "#f3f5f7", "#20252a")
TEXT = Ink("--text", "#1b1f24", "#e9ecef")
MUTED = Ink("--muted", "#59626d", "#a4adb8")
RULE = Ink("--rule", "#d5dae0", "#383f47")
SERIES = (
    Ink("--series-0", "#40488f", "#c2b8fe"),
    Ink("--series-1", "#ad3b41", "#c62d26"),
    Ink("--series-2", "#05a499", "#13a2a1"),
    Ink("--series-3", "#aa4adc", "#8140da"),
    Ink("--series-4", "#ca8214", "#c39c10"),
    Ink("--series-5", "#017798", "#236d94"),
    Ink("--series-6", "#0e1981", "#9f80f1"),
    Ink("--series-7", "#6e2b0e", "#f7bf84"),
)
INKS = (GROUND, WASH, TEXT, MUTED, RULE, *SERIES)
MARKERS = (
    Marker("o", "M13 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0z"),
    Marker("s", "M13.5 2.5h7v7h-7z"),
    Marker("^", "M17 2l4 7.5h-8z"),
    Marker("D", "M17 1.5l4.5 4.5l-4.5 4.5l-4.5-4.5z"),
    Marker("v", "M17 10l4-7.5h-8z"),
    Marker("P", "M15.5 2h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5v-3h2.5z"),
    Marker("X", "M14 1.5l3 3l3-3l1.5 1.5l-3 3l3 3l-1.5 1.5l-3-3l-3 3l-1.5-1.5l3-3l-3-3z"),
)
"""Seven, so that colour and marker together repeat after 56 hues."""
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 2), (1.2, 1.6), (6, 2, 1.2, 2), (9, 3))


@dataclass(kw_only=True, frozen=True)
class Style:
    """How one line is drawn, in a figure and in its legend."""

    ink: Ink
    marker: Marker
    dash: tuple[float, ...]
    """Lengths of strokes and gaps, in line widths; empty: solid."""
    hollow: bool = False
    """Whether markers are outlines: a policy scored beside the declared one."""


def styles(*, hues: list[str], dashes: list[str]) -> dict[tuple[str, str], Style]:
    """The style of every (hue, dash) pair, from the sorted sets of both.

    Past eight hues the colours come round again, with another marker.
    """
    hues, dashes = sorted(set(hues)), sorted(set(dashes))
    return {
        (hue, dash): Style(
            ink=SERIES[i % len(SERIES)],
            marker=MARKERS[i % len(MARKERS)],
            dash=DASHES[k % len(DASHES)],
        )
        for i, hue in enumerate(hues)
        for k, dash in enumerate(dashes)
    }


def variables(*, dark: bool) -> Markup:
    """The colours as CSS declarations."""
    return Markup(" ").join(
        Markup("{}: {};").format(ink.variable, ink.dark if dark else ink.light) for ink in PAGE_INKS
    )


class Part(NamedTuple):
    """A part of the parameter ledger as it is named and coloured."""

    key: str
    """In the ledger."""
    name: str
    ink: Ink


PARTS = (
    Part("token_embedding", "token table", Ink("--part-0", "#39444f", "#c9d1d9")),
    Part("position", "positions", Ink("--part-1", "#d1495b", "#ff7b86")),
    Part("blocks", "blocks", Ink("--part-2", "#a9b4bf", "#56616c")),
    Part("norms", "norms", Ink("--part-3", "#5f9ea0", "#79b8ba")),
    Part("output", "output", Ink("--part-4", "#77828d", "#8d98a3")),
)
"""Shades of one grey but for the part that the laboratory is about; they occur in no line."""
PAGE_INKS = (*INKS, *(part.ink for part in PARTS))
CONTROLS: tuple[tuple[float, ...], ...] = ((), (4, 1.5), (1, 1.2), (4, 1.2, 1, 1.2))
"""Dashes of the grey lines that a table is read beside."""
