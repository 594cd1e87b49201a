"""What a section of the report is."""

from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from andrea_exp.report.table import Table


class Section(NamedTuple):
    """A part of the page with a title of its own.

    It answers for every table of runs; where there is nothing to show, with `Nothing`.
    """

    key: str
    """Its anchor in the page, and the beginning of the ids inside."""
    title: str
    source: str
    """The files of the run directories that its numbers are read from, and their keys."""
    html: Callable[[Table], Markup]
    """A pure function: the same table gives the same text."""
