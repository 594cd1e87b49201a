"""The whole report: run directories in, one HTML file out."""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from markupsafe import Markup

from andrea_exp.atomic import write_atomically
from andrea_exp.component import Refusal
from andrea_exp.record.reader import Survey, survey, without
from andrea_exp.record.results import IncompleteResults
from andrea_exp.report import palette
from andrea_exp.report.cautions import cautions
from andrea_exp.report.format import quantity
from andrea_exp.report.markup import Nothing, fragment
from andrea_exp.report.sections import (
    cost,
    drift,
    faults,
    geometry,
    hidden,
    kernel_speed,
    lengths,
    order,
    positions,
    probes,
    provenance,
    row_cosines,
    seeds,
    slots,
    smoothness,
    summary,
    tails,
    tasks,
    throughput,
    training,
    verdicts,
)
from andrea_exp.report.sections.base import Section
from andrea_exp.report.table import Table, table_of

_LOG = logging.getLogger(__name__)

SECTIONS = (
    summary.SECTION,
    verdicts.SECTION,
    cost.SECTION,
    training.SECTION,
    lengths.SECTION,
    tails.SECTION,
    seeds.SECTION,
    tasks.SECTION,
    positions.SECTION,
    slots.SECTION,
    order.SECTION,
    smoothness.SECTION,
    row_cosines.SECTION,
    drift.SECTION,
    probes.SECTION,
    hidden.SECTION,
    geometry.SECTION,
    throughput.SECTION,
    kernel_speed.SECTION,
    faults.SECTION,
    provenance.SECTION,
)
"""What a report consists of, in reading order. The only list of sections."""


def build(paths: Sequence[Path], *, output: Path) -> Path:
    """Write the report of all runs at or below these paths; the same runs give the same bytes.

    Args:
        paths: run directories, or folders that hold some.
        output: the file to write; one that is there is replaced.

    Returns:
        `output`.

    Raises:
        Refusal: a path holds no run, no run can be read, or the output cannot be written.
        DiskFull: there is no room for the output.
    """
    write(output, page(read(paths)))
    return output


def read(paths: Sequence[Path]) -> Survey:
    """Every run at or below these paths, with a warning for each that cannot be read.

    Raises:
        Refusal: a path holds no run, or no run can be read.
    """
    found = survey(paths)
    for run in found.unreadable:
        _LOG.warning("%s cannot be read: %s", run.path, run.reason)
    return found


def page(found: Survey) -> str:
    """The report as one HTML document that needs nothing else."""
    return drawn(found, _page)


def drawn(found: Survey, draw: Callable[[Survey], str]) -> str:
    """What is drawn of these runs; one whose results lack a key that is needed is unreadable.

    Raises:
        Refusal: no run is left.
    """
    while True:
        try:
            return draw(found)
        except IncompleteResults as damage:
            _LOG.warning(str(damage))
            found = without(found, damage)


def _page(found: Survey) -> str:
    table = table_of(found)
    parts = [(section, section.html(table)) for section in SECTIONS]
    told = [each for each in parts if not isinstance(each[1], Nothing)]
    silent = [each for each in parts if isinstance(each[1], Nothing)]
    return fragment(
        "page",
        {
            "title": _title(table),
            "kind": _kind(table),
            "lead": summary.lead(table),
            "question": _question(table),
            "warnings": list(cautions(table)),
            "light": palette.variables(dark=False),
            "dark": palette.variables(dark=True),
            "sections": [
                *(_shown(section, html) for section, html in told),
                *([_not_shown(silent)] if silent else []),
            ],
        },
    )


def _shown(section: Section, html: Markup) -> dict[str, object]:
    source = Markup('<p class="source">Read from {}.</p>').format(section.source)
    return {"key": section.key, "title": section.title, "html": source + html}


def _not_shown(silent: Sequence[tuple[Section, Markup]]) -> dict[str, object]:
    """One short section in place of many that would be a heading and a sentence each."""
    items = Markup("").join(
        Markup('<li id="{}"><strong>{}:</strong> {}</li>').format(section.key, section.title, why)
        for section, why in silent
    )
    html = Markup("<ul>{}</ul>").format(items)
    return {"key": "nothing", "title": "Nothing to show", "html": html}


def write(output: Path, text: str) -> None:
    """Replace a file by this text.

    Raises:
        Refusal: it cannot be written there.
        DiskFull: there is no room for it.
    """
    check_output(output)
    try:
        write_atomically(output, text)
    except OSError as error:
        raise Refusal(
            f"cannot write {output}: {error.strerror}; choose another place with --output FILE"
        ) from error


def check_output(output: Path) -> None:
    """Refuse, before anything takes its time, a place where no file can be.

    Raises:
        Refusal: it is a folder, or lies in none, or in one that this user may not write into.
    """
    if output.is_dir():
        raise Refusal(f"cannot write {output}: it is a folder; name a file in it")
    if not output.parent.is_dir():
        raise Refusal(
            f"cannot write {output}: {output.parent} is not a folder; "
            "choose another place with --output FILE"
        )
    if not os.access(output.parent, os.W_OK):
        raise Refusal(
            f"cannot write {output}: {output.parent} is not writable; "
            "choose another place with --output FILE"
        )


def _title(table: Table) -> str:
    if len(table.runs) == 1:
        return table.runs[0].name.run
    folders = {str(run.record.config.get("name")) for run in table.runs}
    return folders.pop() if len(folders) == 1 else quantity(len(table.runs), "run")


def _kind(table: Table) -> str:
    runs = table.runs
    return "andrea_exp: one run" if len(runs) == 1 else f"andrea_exp: {quantity(len(runs), 'run')}"


def _question(table: Table) -> str:
    """What the experiment asked, if all runs belong to one."""
    asked = {run.record.config.get("question") for run in table.runs}
    return str(asked.pop() or "") if len(asked) == 1 else ""
