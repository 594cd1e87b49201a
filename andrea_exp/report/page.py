"""The whole report: run directories in, one HTML file out."""

from collections.abc import Sequence
from pathlib import Path

from andrea_exp.atomic import write_atomically
from andrea_exp.component import Refusal
from andrea_exp.record.reader import RunRecord, discover, load
from andrea_exp.report import palette
from andrea_exp.report.cautions import cautions
from andrea_exp.report.format import quantity
from andrea_exp.report.markup import fragment
from andrea_exp.report.sections import (
    cost,
    faults,
    lengths,
    positions,
    provenance,
    seeds,
    slots,
    smoothness,
    summary,
    tails,
    throughput,
    training,
)
from andrea_exp.report.table import Table, table_of

SECTIONS = (
    summary.SECTION,
    cost.SECTION,
    training.SECTION,
    lengths.SECTION,
    tails.SECTION,
    seeds.SECTION,
    positions.SECTION,
    slots.SECTION,
    smoothness.SECTION,
    throughput.SECTION,
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
        Refusal: a path holds no run, a file is broken, or the output cannot be written.
    """
    write(output, page(read(paths)))
    return output


def read(paths: Sequence[Path]) -> list[RunRecord]:
    """Every run at or below these paths.

    Raises:
        Refusal: a path holds no run, or a file is broken.
    """
    return [load(run) for run in discover(paths)]


def page(records: Sequence[RunRecord]) -> str:
    """The report as one HTML document that needs nothing else."""
    table = table_of(records)
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
                {"key": section.key, "title": section.title, "html": section.html(table)}
                for section in SECTIONS
            ],
        },
    )


def write(output: Path, text: str) -> None:
    """Replace a file by this text.

    Raises:
        Refusal: it cannot be written there.
    """
    if output.is_dir():
        raise Refusal(f"cannot write {output}: it is a folder; name a file in it")
    try:
        write_atomically(output, text)
    except OSError as error:
        raise Refusal(
            f"cannot write {output}: {error.strerror}; choose another place with --output FILE"
        ) from error


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
