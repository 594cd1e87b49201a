"""Tables, legends and the page as HTML; every text that a user wrote is escaped on its way in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from andrea_exp.report.palette import Style


@dataclass(kw_only=True, frozen=True)
class Column:
    """A column of a table of the page."""

    head: str | Markup
    kind: Literal["number", "words", "prose"] = "number"
    """Words begin at the left and may break, prose gets room for a sentence; numbers do neither."""


Cell = str | Markup
LONG = 50
"""Rows from which on a table is folded."""


@final
class Nothing(Markup):
    """A sentence that says why a section has nothing to show."""


def data_table(
    *, key: str, caption: str | Markup, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> Markup:
    """A table that scrolls sideways by itself on a narrow screen; the first cell names its row.

    A long one is folded: its caption stands, and opens it.
    """
    values = {"key": key, "caption": caption, "columns": columns, "rows": rows}
    return fragment("table", {**values, "folded": len(rows) > LONG})


def legend(entries: Mapping[str, Style]) -> Markup:
    """The lines of one or more figures with their names, in words beside samples."""
    samples = {name: swatch(style) for name, style in entries.items()}
    return fragment("legend", {"entries": samples})


def swatch(style: Style) -> Markup:
    """A short piece of a line as it is drawn, with its marker."""
    dash = " ".join(f"{1.7 * part:g}" for part in style.dash)
    return Markup(
        '<svg class="swatch" viewBox="0 0 34 12" aria-hidden="true" style="stroke: var({ink})">'
        '<path d="M0 6h34" stroke-width="1.7" stroke-dasharray="{dash}"/>'
        '<path d="{outline}" style="fill: var({fill})"/></svg>'
    ).format(
        ink=style.ink.variable,
        dash=dash,
        outline=style.marker.outline,
        fill="--ground" if style.hollow else style.ink.variable,
    )


def paragraph(text: str | Markup) -> Markup:
    """Running text."""
    return Markup("<p>{}</p>").format(text)


def nothing(text: str) -> Nothing:
    """The answer of a section that has nothing to show."""
    return Nothing(escape(text))


def panels(figures: Sequence[Markup]) -> Markup:
    """Figures side by side where there is room, one below the other where there is not."""
    return Markup('<div class="panels">{}</div>').format(Markup("").join(figures))


def with_note(value: str, note: str) -> Markup:
    """A number with what belongs to it in small: a spread, a unit, a count."""
    return Markup('{} <span class="note">{}</span>').format(value, note) if note else escape(value)


def fragment(name: str, values: Mapping[str, object]) -> Markup:
    """A template of this package, filled."""
    return Markup(_environment().get_template(f"{name}.html.jinja").render(values))


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("andrea_exp.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
