"""Runs as claims read them: paired by all but what is compared, with the seed as the unit."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from andrea_exp.config.door import option_class
from andrea_exp.data.base import DataConfig
from andrea_exp.lesson.claim import Value, above, told
from andrea_exp.output.base import OutputConfig
from andrea_exp.output.tied import TiedConfig
from andrea_exp.position.base import PositionConfig
from andrea_exp.report.format import quantity
from andrea_exp.report.labels import NOT_RECIPE
from andrea_exp.report.spread import ENOUGH_SEEDS, paired
from andrea_exp.report.table import Run, Table


def has_scheme(run: Run, cls: type[PositionConfig]) -> bool:
    """Whether a run's position scheme is one of this class, whatever its values."""
    return option_class(PositionConfig, _name(run, "position"), path="position") is cls


def has_data(run: Run, cls: type[DataConfig]) -> bool:
    """Whether a run was trained on data of this class."""
    return option_class(DataConfig, _name(run, "data"), path="data") is cls


def is_tied(run: Run) -> bool:
    """Whether a run scores with its token table."""
    return option_class(OutputConfig, _name(run, "output"), path="output") is TiedConfig


def _name(run: Run, group: str) -> str:
    return run.record.config[group]["name"]


def arms_with(table: Table, cls: type[PositionConfig]) -> dict[str, tuple[Run, ...]]:
    """The arms whose scheme is one of this class."""
    return {arm: runs for arm, runs in table.arms.items() if has_scheme(runs[0], cls)}


def twins(table: Table, *, group: str) -> list[list[Run]]:
    """Completed runs that differ in nothing but one group; those of a list share the seed."""
    alike: dict[str, list[Run]] = {}
    for run in table.completed:
        config = run.record.config
        kept = {key: config[key] for key in config if key != group and key not in NOT_RECIPE}
        alike.setdefault(json.dumps(kept, sort_keys=True), []).append(run)
    return [runs for runs in alike.values() if len(runs) > 1]


def loss(run: Run) -> float | None:
    """Validation loss at T, in nats per token."""
    return run.final("val_loss")


def losses(arms: Mapping[str, Sequence[Run]]) -> Iterator[Value]:
    """Mean loss at T of every arm."""
    for arm, runs in arms.items():
        numbers = known([loss(run) for run in runs])
        if numbers:
            seeds = quantity(len(numbers), "seed")
            yield told(f"{arm}: loss at T, nats, {seeds}", fmean(numbers))


def against(table: Table, *, group: str, reference: Callable[[Run], bool]) -> Iterator[Value]:
    """Loss at T of every arm minus that of its twin that is the reference, with its interval."""
    for (arm, other), numbers in differences(
        table, group=group, reference=reference, of=loss
    ).items():
        found = paired(numbers)
        screen = ": a screen" if found.pairs < ENOUGH_SEEDS else ""
        seeds = quantity(found.pairs, "seed")
        yield told(f"{arm} minus {other}, nats, {seeds}{screen}", found.mean)
        if found.low is not None and found.high is not None:
            yield told("its 95 % interval", [found.low, found.high])


def differences(
    table: Table,
    *,
    group: str,
    reference: Callable[[Run], bool],
    of: Callable[[Run], float | None],
) -> dict[tuple[str, str], list[float]]:
    """A number of each run minus that of its twin: (arm, arm of the reference) -> one per seed.

    The reference is the first of the twins that is one, by name; other references are arms.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for runs in twins(table, group=group):
        bases = [run for run in runs if reference(run)]
        for run in runs:
            if bases and run is not bases[0]:
                one, two = of(run), of(bases[0])
                if one is not None and two is not None:
                    found.setdefault((run.arm, bases[0].arm), []).append(one - two)
    return found


def direction(name: str, numbers: Sequence[float]) -> Iterator[Value]:
    """A number per seed, of which a claim expects that it is above 0.

    It is decided where six seeds or more have an interval that leaves out 0, and told elsewhere.
    """
    if not numbers:
        return
    found = paired(numbers)
    seeds = quantity(found.pairs, "seed")
    low, high = found.low, found.high
    if found.pairs < ENOUGH_SEEDS or low is None or high is None:
        yield told(f"{name}, {seeds}: a screen", found.mean)
    elif low <= 0 <= high:
        yield told(f"{name}, {seeds}: undecided, 95 % interval", [low, high])
    else:
        yield above(f"{name}, {seeds}", found.mean, 0)


def known(numbers: Sequence[float | None]) -> list[float]:
    """Those that were measured."""
    return [number for number in numbers if number is not None]


def length_row(run: Run, *, factor: float) -> Mapping[str, Any]:
    """A run's length under its declared policy and the block protocol; empty if refused."""
    rows: list[dict[str, Any]] = (run.record.results or {}).get("lengths") or []
    block = [row for row in rows if row["protocol"] == "block"]
    declared = {row["beyond"] for row in block if row["factor"] == 1}
    for row in block:
        if row["factor"] == factor and row["beyond"] in declared and row["status"] == "ok":
            return row
    return {}
