"""What a section of the report is."""

from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from andrea_exp.report.table import Table


class Section(NamedTuple):
    """A part of the page with a title of its own.

    It is shown for every table of runs, and says so where there is nothing to show.
    """

    key: str
    """Its anchor in the page, and the beginning of the ids inside."""
    title: str
    html: Callable[[Table], Markup]
    """A pure function: the same table gives the same text."""
