"""The comparison for people at a terminal: 80 columns are enough, and a pipe gets the same."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from andrea_exp.bench.compositions import Composition
from andrea_exp.kernel.backend import BackendConfig
from andrea_exp.record.bench import Block, Pass, Row
from andrea_exp.report.format import MISSING, count, quantity

HEADS = ("", "pass", "ms", "quartiles", "ratio", "quartiles", "copy", "product", "MB")
LEGEND = (
    "Medians over rounds in which every backend is called once. ratio: to torch in the same round. "
    "copy: least traffic, as a share of what a copy in memory moves here; product: operations, as "
    "a share of a large matrix product's; either can pass 100% where caches hold everything. MB: "
    "peak of torch's allocator beyond the inputs."
)


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
    grid = _grid(*HEADS)
    for column in grid.columns[2:]:
        column.justify = "right"
    for operation, rows in groupby(found.rows, key=lambda row: row.operation):
        for line in _lines(operation, list(rows)):
            grid.add_row(*line)
    head = Text(title(found), style="bold")
    return Group(head, Text(machine(found)), "", grid, *_remarks(found.rows), "")


def title(found: Block) -> str:
    """The sizes of a block, after what tells it from the others."""
    sizes = (
        f"B {found.sequences}, T {found.tokens}, D {found.width}, N {found.heads}, "
        f"V {count(found.vocab)}, {found.precision}"
    )
    marks = {
        "biased": found.biased,
        "not causal": not found.causal,
        f"dropout {found.dropout:g}": found.dropout > 0,
        "compiled": found.compiled,
    }
    said = ", ".join([sizes, *(words for words, told in marks.items() if told)])
    return f"{found.label}: {said}" if found.label else said


def machine(found: Block) -> str:
    """On what it was measured, and what that reaches."""
    return (
        f"{found.device}, {quantity(found.threads, 'thread')}; copy "
        f"{significant(found.copy_gb_per_s)} GB/s, "
        f"product {significant(found.product_tflop_per_s)} TFLOP/s"
    )


def significant(value: float | None) -> str:
    """A number in three digits, trailing zeros among them."""
    if value is None:
        return MISSING
    return count(value) if value >= 999.5 else f"{value:#.3g}".rstrip(".")


def between(low: float | None, high: float | None) -> str:
    """Two quartiles; one number where they are the same."""
    if low == high:
        return significant(low)
    return f"{significant(low)}\N{EN DASH}{significant(high)}"


def percent(fraction: float | None) -> str:
    """A share in whole percents, or one digit of them."""
    return MISSING if fraction is None else f"{100 * fraction:.{0 if fraction >= 0.01 else 1}f}%"


def legend() -> RenderableType:
    """How to read the tables."""
    return Text(LEGEND, style="dim")


def _abilities(backend: BackendConfig, blocks: Sequence[Composition]) -> Iterator[str]:
    """One answer if it is the same for all blocks, else each with the blocks that get it."""
    answers: dict[str, list[str]] = {}
    for each in blocks:
        reasons = backend.reasons(each.use)
        answer = "; ".join(reasons) if reasons else f"runs as {backend.runs_as(each.use)}"
        answers.setdefault(answer, []).append(each.label)
    for answer, labels in answers.items():
        yield answer if len(answers) == 1 else f"{', '.join(labels)}: {answer}"


def _lines(operation: str, rows: Sequence[Row]) -> Iterator[Sequence[RenderableType]]:
    """The operation's name, and below it two lines per backend that was timed."""
    yield [Text(operation, style="bold")]
    for row in rows:
        if row.forward is not None and row.forward_backward is not None:
            yield [Text(f" {row.backend}"), "forward", *_cells(row.forward)]
            yield ["", "and back", *_cells(row.forward_backward)]


def _remarks(rows: Sequence[Row]) -> Iterator[Text]:
    for row in rows:
        name = f"{row.operation} by {row.backend}"
        if row.wrong:
            yield Text(f"{name} {row.outcome}, not timed: {'; '.join(row.reasons)}", style="red")
        elif row.bits_repeat is False:
            yield Text(f"{name}: a second run gave other bits", style="yellow")


def _cells(found: Pass) -> list[str]:
    memory = found.peak_memory_bytes
    return [
        significant(found.ms_median),
        between(found.ms_q1, found.ms_q3),
        significant(found.ratio_to_torch),
        between(found.ratio_q1, found.ratio_q3),
        percent(found.fraction_of_copy),
        percent(found.fraction_of_product),
        significant(None if memory is None else memory / 1e6),
    ]


def _grid(*heads: str) -> Grid:
    grid = Grid(box=None, show_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for head in heads:
        grid.add_column(head)
    return grid
