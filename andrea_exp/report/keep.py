"""What is kept of an experiment: its page, a table of its runs, its verdicts, times of kernels."""

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, count
from pathlib import Path
from typing import Any

import polars as pl

from andrea_exp.atomic import write_atomically
from andrea_exp.claims.judge import Judgement
from andrea_exp.component import Refusal
from andrea_exp.evidence.rule import Kind
from andrea_exp.record.reader import Survey
from andrea_exp.report.format import quantity, signed
from andrea_exp.report.page import page
from andrea_exp.report.registration import registration
from andrea_exp.report.table import Run, Table, table_of

DIGITS = 6
"""Significant ones of a number in the table of runs."""
PAGE, RUNS, VERDICTS = "report.html", "runs.csv", "verdicts.md"


def keep(found: Survey, *, folder: Path) -> Path:
    """Write three files, and the records of bench beside the runs; what is there is replaced.

    Returns:
        The folder.

    Raises:
        Refusal: the runs belong to no experiment with claims, or the folder cannot be written.
        DiskFull: there is no room.
    """
    table = table_of(found)
    texts = {PAGE: page(found), RUNS: runs(table), VERDICTS: verdicts(table)} | benches(table)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            write_atomically(folder / name, text)
    except OSError as error:
        raise Refusal(
            f"cannot write into {folder}: {error.strerror}; choose another place with --keep FOLDER"
        ) from error
    return folder


def runs(table: Table) -> str:
    """One line per run, in CSV: what it was, its losses and the numbers of its rows."""
    rows = [dict(_row(run)) for run in table.runs]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    known = [key for key in columns if any(row.get(key) is not None for row in rows)]
    frame = pl.DataFrame({key: [row.get(key) for row in rows] for key in known})
    return frame.with_columns(pl.selectors.float().round_sig_figs(DIGITS)).write_csv()


def benches(table: Table) -> dict[str, str]:
    """Name -> text of every record of bench; of several with one name, later ones are numbered."""
    found: dict[str, str] = {}
    for file in table.benches:
        if file.bench is not None:
            found[_free(file.name, found)] = file.bench.text()
    return found


def verdicts(table: Table) -> str:
    """The claims and what became of them, as a table in Markdown.

    Raises:
        Refusal: the runs belong to no experiment with claims.
    """
    found = registration(table)
    if found is None:
        raise Refusal(
            "these runs belong to no experiment with claims, so there are no verdicts to keep; "
            "write a report without --keep"
        )
    lines = ["| claim | verdict | difference | margin | pairs |", "|---|---|---|---|---|"]
    lines += [_line(judgement) for judgement in found.judgements]
    return "\n".join(lines) + "\n"


def _free(name: str, taken: Collection[str]) -> str:
    stem = name.removesuffix(".json")
    names = (f"{stem}{suffix}.json" for suffix in chain([""], (f"-{n}" for n in count(2))))
    return next(each for each in names if each not in taken)


def _line(judgement: Judgement) -> str:
    claim = judgement.claim
    statement = claim.statement.replace("|", "\\|")
    margin = f"{'±' if claim.kind is Kind.within else ''}{claim.margin:g}"
    difference = signed(judgement.mean)
    if judgement.interval is not None:
        low, high = judgement.interval
        difference += f" [{signed(low)}, {signed(high)}]"
    pairs = quantity(len(judgement.seeds), "pair")
    return f"| {statement} | {judgement.verdict.name} | {difference} | {margin} | {pairs} |"


def _row(run: Run) -> Iterator[tuple[str, Any]]:
    yield "run", run.name.run
    yield "seed", run.seed
    yield "recipe", run.record.recipe_hash
    yield "status", run.record.status.name
    yield "parameters", run.part("cost").get("total")
    yield from _numbers("final", run.part("final"))
    for row in (run.record.results or {}).get("lengths") or []:
        if row["status"] == "ok":
            where = f"{row['factor']:g}T {row['protocol']} {row['beyond']}"
            yield f"loss_nats at {where}", row["loss_nats"]
            yield f"rise_nats at {where}", row["rise_nats"]
    smoothness = run.part("smoothness")
    for state in ("init", "trained", "change"):
        yield from _numbers(f"smoothness.{state}", run.part(state, of=smoothness))
    yield from _numbers("smoothness.permutation", run.part("permutation", of=smoothness))


def _numbers(prefix: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, int | float):
            yield f"{prefix}.{key}", float(value)
