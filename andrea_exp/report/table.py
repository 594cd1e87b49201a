"""The table of runs: what every section of a report reads.

One typed row per run with its name and style, a long frame of the lengths, and the nested records
as the run left them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import polars as pl

from andrea_exp.record.bench import BenchFile
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import RunRecord, Survey, UnreadableRun
from andrea_exp.report.labels import Name, names, seed
from andrea_exp.report.palette import Style, styles

LENGTHS = pl.Schema(
    {
        "run": pl.String,
        "arm": pl.String,
        "seed": pl.Int64,
        "length": pl.Int64,
        "factor": pl.Float64,
        "protocol": pl.String,
        "stride": pl.Int64,
        "beyond": pl.String,
        "declared": pl.Boolean,
        "status": pl.String,
        "reason": pl.String,
        "loss_nats": pl.Float64,
        "loss_se": pl.Float64,
        "floor_nats": pl.Float64,
        "tail_loss_nats": pl.Float64,
        "rise_nats": pl.Float64,
        "rise_se": pl.Float64,
        "accuracy": pl.Float64,
        "tokens_scored": pl.Int64,
    }
)
"""One row per run, length, protocol and policy; `declared` tells the run's own policy from those
that were scored beside it."""


@dataclass(kw_only=True, frozen=True)
class Run:
    """One run of the report."""

    record: RunRecord
    name: Name
    style: Style
    repeats: bool
    """Whether another run of the same recipe is counted in its place: a seed counts once."""

    @property
    def arm(self) -> str:
        """Name shared by the runs that differ in nothing but the seed."""
        return self.name.arm

    @property
    def seed(self) -> int | None:
        """Seed of everything random."""
        return seed(self.record)

    @property
    def completed(self) -> bool:
        """Whether the run reached its end, was evaluated, and is counted."""
        return _finished(self.record) and not self.repeats

    @property
    def trained_length(self) -> int | None:
        """T in tokens."""
        return self.part("model", of=self.record.config).get("context")

    def part(self, key: str, *, of: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """A group of the results (or of another record); empty where it was not written."""
        whole = self.record.results if of is None else of
        found = None if whole is None else whole.get(key)
        return found if isinstance(found, Mapping) else {}

    def final(self, key: str) -> float | None:
        """A number of the end of the run, in nats per token."""
        return self.part("final").get(f"{key}_nats")

    @property
    def baselines(self) -> dict[str, float]:
        """Losses that little knowledge reaches, highest first; also the data's floor if known."""
        trained = ("train_loss_nats", "val_loss_nats")
        levels = {
            key.removesuffix("_nats"): value
            for key, value in self.part("final").items()
            if key not in trained and value is not None
        }
        return dict(sorted(levels.items(), key=lambda item: item[1], reverse=True))


@dataclass(kw_only=True, frozen=True)
class Table:
    """All runs of a report, sorted by name."""

    runs: tuple[Run, ...]
    lengths: pl.DataFrame
    """Schema LENGTHS; sorted like the runs, then as evaluated."""
    unreadable: tuple[UnreadableRun, ...]
    """Runs of which nothing but the directory is known."""
    benches: tuple[BenchFile, ...]
    """Times of kernel backends that lie beside the runs."""

    @cached_property
    def completed(self) -> tuple[Run, ...]:
        """The runs that have results."""
        return tuple(run for run in self.runs if run.completed)

    @cached_property
    def arms(self) -> Mapping[str, tuple[Run, ...]]:
        """Completed runs by arm."""
        return {arm: tuple(runs) for arm, runs in groupby(self.completed, key=lambda run: run.arm)}

    @cached_property
    def num_seeds(self) -> int:
        """Most completed seeds of one arm."""
        return max((len({run.seed for run in runs}) for runs in self.arms.values()), default=0)

    @property
    def trained_length(self) -> int | None:
        """T, if all runs share it."""
        lengths = {run.trained_length for run in self.runs}
        return lengths.pop() if len(lengths) == 1 else None

    @property
    def baselines(self) -> dict[str, float]:
        """The levels on which all completed runs agree: they saw the same data."""
        each = [run.baselines for run in self.completed]
        return {
            name: level
            for name, level in (each[0].items() if each else ())
            if all(levels.get(name) == level for levels in each)
        }


def table_of(found: Survey) -> Table:
    """The table of these runs, in an order that does not depend on where they lie."""
    records = found.records
    spoken = names(records)
    looks = _looks(spoken)
    counted = {
        record.recipe_hash: record
        for record in sorted(records, key=lambda record: record.name)
        if _finished(record)
    }
    runs = [
        Run(
            record=record,
            name=name,
            style=looks[name],
            repeats=_finished(record) and counted[record.recipe_hash] is not record,
        )
        for record, name in zip(records, spoken, strict=True)
    ]
    runs.sort(key=lambda run: (run.arm, run.seed is None, run.seed or 0, run.name.run))
    rows = [row for run in runs if not run.repeats for row in _length_rows(run)]
    return Table(
        runs=tuple(runs),
        lengths=pl.DataFrame(rows, schema=LENGTHS),
        unreadable=tuple(sorted(found.unreadable, key=lambda run: run.name)),
        benches=tuple(found.benches),
    )


def _finished(record: RunRecord) -> bool:
    return record.status is Status.completed and record.results is not None


def _looks(found: Sequence[Name]) -> dict[Name, Style]:
    """Colour by scheme, dash by the other choices; by those alone where there is one scheme."""
    one = len({name.scheme for name in found}) == 1
    keys = {name: (name.rest, "") if one else (name.scheme, name.rest) for name in found}
    look = styles(
        hues=[hue for hue, _ in keys.values()], dashes=[dash for _, dash in keys.values()]
    )
    return {name: look[key] for name, key in keys.items()}


def _length_rows(run: Run) -> Iterator[dict[str, Any]]:
    rows = (run.record.results or {}).get("lengths") or []
    declared = {row["beyond"] for row in rows if row["factor"] == 1}
    for row in rows:
        told = {
            **row,
            "run": run.name.run,
            "arm": run.arm,
            "seed": run.seed,
            "length": row["length"],
            "declared": row["beyond"] in declared,
        }
        yield {key: told.get(key) for key in LENGTHS}
