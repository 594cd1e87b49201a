"""The comparison for people at a terminal: 80 columns are enough, and a pipe gets the same."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from andrea_exp.bench.compositions import Composition
from andrea_exp.kernel.backend import BackendConfig
from andrea_exp.record.bench import Block, Row
from andrea_exp.report.timed import HEADS, LEGEND, cells, machine, sizes


def abilities(
    blocks: Sequence[Composition], options: Mapping[str, Mapping[str, BackendConfig]]
) -> RenderableType:
    """What each backend runs as here, or every reason why it cannot."""
    grid = _grid("operation", "backend", "here")
    for operation, backends in options.items():
        for index, (name, backend) in enumerate(backends.items()):
            here = "\n".join(_abilities(backend, blocks))
            grid.add_row("" if index else operation, Text(name), Text(here))
    return Group(Text("What can run here", style="bold"), grid, "")


def block(found: Block) -> RenderableType:
    """The tables of one set of sizes, an operation each."""
    grid = _grid("", "pass", *HEADS)
    for column in grid.columns[2:]:
        column.justify = "right"
    for operation, rows in groupby(found.rows, key=lambda row: row.operation):
        for line in _lines(operation, list(rows)):
            grid.add_row(*line)
    head = Text(sizes(found), style="bold")
    return Group(head, Text(machine(found)), "", grid, *_remarks(found.rows), "")


def legend() -> RenderableType:
    """How to read the tables."""
    return Text(LEGEND, style="dim")


def _abilities(backend: BackendConfig, blocks: Sequence[Composition]) -> Iterator[str]:
    """One answer if it is the same for all blocks, else each with the blocks that get it."""
    answers: dict[str, list[str]] = {}
    for each in blocks:
        reasons = backend.reasons(each.use)
        why_not = f"cannot: {'; '.join(reasons)}"
        answer = why_not if reasons else f"runs as {backend.runs_as(each.use)}"
        answers.setdefault(answer, []).append(each.label)
    for answer, labels in answers.items():
        yield answer if len(answers) == 1 else f"{', '.join(labels)}: {answer}"


def _lines(operation: str, rows: Sequence[Row]) -> Iterator[Sequence[RenderableType]]:
    """The operation's name, and below it two lines per backend that was timed."""
    yield [Text(operation, style="bold")]
    for row in rows:
        if row.forward is not None and row.forward_backward is not None:
            yield [Text(f" {row.backend}"), "forward", *cells(row.forward)]
            yield ["", "both", *cells(row.forward_backward)]


def _remarks(rows: Sequence[Row]) -> Iterator[Text]:
    for row in rows:
        name = f"{row.operation} by {row.backend}"
        if row.wrong:
            yield Text(f"{name} {row.outcome}, not timed: {'; '.join(row.reasons)}", style="red")
        elif row.bits_repeat is False:
            yield Text(f"{name}: a second run gave other bits", style="yellow")


def _grid(*heads: str) -> Grid:
    grid = Grid(box=None, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for head in heads:
        grid.add_column(head)
    return grid
