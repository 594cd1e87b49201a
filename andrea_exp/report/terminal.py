"""What a person sees in the terminal at the end of a run: the report in small."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.reader import RunRecord, Survey
from andrea_exp.report.arms import Policy, factors, policies
from andrea_exp.report.format import MISSING, count, fixed, multiple, share, signed
from andrea_exp.report.palette import PARTS
from andrea_exp.report.sections.smoothness import MEASURES, STATES
from andrea_exp.report.table import Run, Table, table_of

SHOWN = ("adjacent_cosine", "centred_adjacent_cosine", "d2_over_d1", "effective_rank")
"""Measures of the smoothness panel that fit beside each other."""


REST = {
    "trainable parameters": "trainable",
    "elements of the token table that the output shares": "tied_shared",
    "elements of buffers, such as fixed rows": "buffers",
    "rows of the token table that no data uses": "padding_rows",
    "bytes of weights": "bytes_weights",
    "bytes of optimizer state": "bytes_optimizer",
    "FLOPs per trained token": "flops_per_token",
}
"""What the ledger has beside the parts."""


def summary(record: RunRecord) -> None:
    """Print three tables and two paths: at most some forty lines of 80 columns."""
    Console(highlight=False).print(renderable(record))


def renderable(record: RunRecord) -> RenderableType:
    """What `summary` prints."""
    table = table_of(Survey([record], []))
    run = table.runs[0]
    if not run.completed:
        return Text(f"{run.name.run}: {record.status.name}, no results\n{record.path}")
    return Group(
        Text(f"\n{run.name.run}, seed {run.seed}", style="bold"),
        _cost(run),
        _lengths(table),
        _smoothness(run),
        Text(f"report  {RunDirectory(record.path).report_file}\nrun     {record.path}"),
    )


def ledger(counted: Mapping[str, Any], *, title: str) -> RenderableType:
    """The whole ledger of a composition; `counted` is the `cost` of results.json."""
    fraction = counted["fraction"]
    nominal = fraction["of_nominal"]
    heads = ["part", "count", "share of the total"]
    grid = _grid(title, *heads, *([f"of {count(counted['nominal'])}"] if nominal else []))
    for part in PARTS:
        shares = [fraction["of_total"][part.key], *([nominal[part.key]] if nominal else [])]
        grid.add_row(part.name, count(counted[part.key]), *(f"{each:.3%}" for each in shares))
    grid.add_row("total", count(counted["total"]), style="bold")
    rest = _grid("")
    rest.show_header = False
    rest.add_column()
    rest.add_column(justify="right")
    for words, key in REST.items():
        rest.add_row(words, count(counted[key]))
    return Group(grid, rest)


def neighbours(token: str, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> RenderableType:
    """A column of near tokens per table of rows, nearest first.

    Args:
        token: label of the one whose neighbours they are.
        tables: `input` and, unless that is the same table, `output`.
    """
    title = f"Nearest to {token}, by the cosine of trained rows"
    if len(tables) == 1:
        title += " (output tied: one table for both sides)"
    grid = _grid("")
    for name in tables:
        grid.add_column(f"{name} rows", header_style="dim")
        grid.add_column("cosine", justify="right", header_style="dim")
    for near in zip_longest(*tables.values()):
        cells = [(each["token"], fixed(each["cosine"])) if each else ("", "") for each in near]
        grid.add_row(*(cell for pair in cells for cell in pair))
    return Group(Text(title, style="bold"), grid)


def _grid(title: str, *heads: str) -> Grid:
    grid = Grid(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for index, head in enumerate(heads):
        grid.add_column(head, justify="right" if index else "left", header_style="dim")
    return grid


def _cost(run: Run) -> Grid:
    ledger = run.part("cost")
    shares = run.part("of_total", of=run.part("fraction", of=ledger))
    grid = _grid("\nParameters", "part", "count", "share")
    for part in PARTS:
        grid.add_row(part.name, count(ledger.get(part.key)), share(shares.get(part.key)))
    grid.add_row("total", count(ledger.get("total")), "")
    return grid


def _lengths(table: Table) -> Grid:
    levels = ", ".join(f"{name} {fixed(level)}" for name, level in table.baselines.items())
    grid = _grid(
        f"\nLoss by length, nats per token ({levels}).\n"
        "Block and sliding score different targets: compare down a column",
        "length",
        "past T",
        "block",
        "sliding",
        "tail rise",
    )
    for factor in factors(table):
        for policy in policies(table):
            if policy.declared or factor > 1:
                grid.add_row(*_length_row(policy, factor))
    return grid


def _length_row(policy: Policy, factor: float) -> Iterator[str]:
    (length,) = policy.at(factor=factor).get_column("length")
    yield f"{length} = {multiple(factor)}"
    yield policy.beyond if factor > 1 else ""
    if policy.refused(factor=factor):
        yield "refused"
        return
    for protocol in ("block", "sliding"):
        yield fixed(next(iter(policy.numbers("loss_nats", factor=factor, protocol=protocol)), None))
    (rise,) = policy.numbers("rise_nats", factor=factor)
    yield signed(rise) if factor != 1 else MISSING


def _smoothness(run: Run) -> RenderableType:
    found = run.part("smoothness")
    if not run.part("trained", of=found):
        return Text("\nNo position table, so no rows whose smoothness could be measured.\n")
    tables = {words.lower(): run.part(state, of=found) for state, words in STATES.items()}
    title = "\nSmoothness of the position rows"
    return Group(panels(title, tables, run.part("controls", of=found)), Text())


def panels(
    title: str, tables: Mapping[str, Mapping[str, Any]], controls: Mapping[str, Any]
) -> RenderableType:
    """A line per table, and below them those of known smoothness.

    Args:
        title: above them.
        tables: name -> panel.
        controls: the same of the controls.
    """
    shown = [measure for measure in MEASURES if measure.key in SHOWN]
    grid = _grid(title, "rows", *(measure.head for measure in shown))
    beside = {f"control: {name.replace('_', ' ')}": each for name, each in controls.items()}
    for name, panel in {**tables, **beside}.items():
        grid.add_row(name, *(measure.of([panel]) for measure in shown))
    return grid


def order(
    panel: Mapping[str, Any], controls: Mapping[str, Any], null: Mapping[str, Any]
) -> RenderableType:
    """Two sentences below the panels: rows beside their own shuffles, and translation.

    Args:
        panel: of the rows.
        controls: the panels of the controls.
        null: the permutation null of the rows.
    """
    ratio = {
        name: fixed(each["translation_invariance"])
        for name, each in {"these rows": panel, **controls}.items()
    }
    return Text(
        f"\nIn {null['shuffles']:,} random orders of these rows the centred neighbour cosine is "
        f"{fixed(null['mean'])} on average and {fixed(null['max'])} at most; p = "
        f"{fixed(null['p'], digits=4)}.\n"
        "Translation invariance (0: the product of two rows depends on their distance alone): "
        f"{ratio['these rows']}; sinusoid {ratio['sinusoid']}, iid {ratio['iid']}, shuffled "
        f"{ratio['shuffled']}."
    )
