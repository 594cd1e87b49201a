"""Claims for people at a terminal: 80 columns are enough, and a pipe gets the same."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from andrea_exp.lesson.claim import Claim, Plot, Value, Verdict
from andrea_exp.lesson.words import MARKS, expected, shown

WIDTH, HEIGHT = 60, 5
"""Of a plot, in characters."""
BLOCKS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
STYLES = {
    Verdict.holds: "green",
    Verdict.fails: "bold red",
    Verdict.measured: "cyan",
    Verdict.needs_a_run: "yellow",
}


def block(claim: Claim) -> RenderableType:
    """One claim: question and verdict, what the lesson says, what is right, and the numbers."""
    head = Text.assemble(
        (f"{claim.number}. {claim.question}", "bold"),
        "  ",
        (claim.verdict.words, STYLES[claim.verdict]),
    )
    below: list[RenderableType] = [_texts(claim)]
    below += [_values(claim.live, "measured now")] if claim.live else []
    below += [_values(claim.read, "read from runs")] if claim.read else []
    below += [_picture(plot) for plot in claim.plots]
    return Group(head, Padding(Group(*below), (0, 0, 1, 4), expand=False))


def _texts(claim: Claim) -> Grid:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    grid.add_row("lesson", Text(claim.says))
    if claim.right is not None:
        grid.add_row("right", Text(claim.right))
    if claim.command is not None:
        grid.add_row("to run", Text(claim.command))
    return grid


def _values(values: Sequence[Value], head: str) -> Grid:
    grid = Grid(box=None, pad_edge=False, show_edge=False, header_style="dim")
    grid.add_column(head)
    grid.add_column("", justify="right")
    grid.add_column("expected", justify="right")
    grid.add_column("", width=1)
    for value in values:
        style = "bold red" if value.holds is False else ""
        cells = (value.name, shown(value.value), expected(value), MARKS[value.holds])
        grid.add_row(*(Text(cell) for cell in cells), style=style)
    return grid


def _picture(plot: Plot) -> Text:
    return Text("\n".join(_lines(plot)))


def _lines(plot: Plot) -> Iterator[str]:
    """A title, and below it one chart per line, all on the same scale."""
    numbers = [number for line in plot.lines.values() for number in line]
    low, high = min(0, *numbers), max(numbers)
    yield f"\n{plot.title}"
    for name, line in plot.lines.items():
        points = line[:WIDTH]
        yield f"{high:8.2f} {name}"
        for row in chart(points, low=low, high=high):
            yield f"{'':8} {row}"
        yield f"{low:8.2f} {plot.across} 1..{len(points)}"


def chart(points: Sequence[float], *, low: float, high: float) -> list[str]:
    """Columns of blocks, the highest row first, in eighths of a row from `low` to `high`."""
    scale = 8 * HEIGHT / (high - low) if high > low else 0
    filled = [round((point - low) * scale) for point in points]
    return [
        "".join(BLOCKS[min(max(eighths - 8 * row, 0), 8)] for eighths in filled).rstrip()
        for row in reversed(range(HEIGHT))
    ]
