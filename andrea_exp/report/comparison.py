"""Two runs side by side: are they the same, bit for bit, and if not, where do they part?

Left aside are names, places and times: those of the runs and of their data (whose fingerprint
stands for the content), columns of time, and the throughput. With what the runs were executed is
told where it differs, and is no difference by itself.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar, final

from andrea_exp.component import path_fields
from andrea_exp.config.door import option_class
from andrea_exp.config.run import Running
from andrea_exp.data.base import DataConfig
from andrea_exp.record.difference import Difference, of_rows, of_tensors, of_values
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.reader import RunRecord, load

Content = TypeVar("Content")
SIDES = ("first", "second")
EXECUTION = ("git", "packages", "platform", "device", "threads", "kernel", "deterministic")
"""Fields of a manifest that say with what a run was executed."""


@final
@dataclass(kw_only=True, frozen=True)
class Part:
    """One part of the two records."""

    name: str
    same: bool
    """Whether both have it without a difference, or neither has it."""
    missing: list[str]
    """Who lacks it: none, one or both of `first` and `second`."""
    unit: str
    """Of what it consists: keys, steps or tensors."""
    differing: int
    """How many of them differ."""
    differences: list[Difference]
    """All of the recipe's; the first one of any other part."""


@final
@dataclass(kw_only=True, frozen=True)
class Comparison:
    """Two runs."""

    same: bool
    """Whether every part is the same."""
    first: str
    second: str
    parts: list[Part]
    execution: list[Difference]
    """Where that differs with which they were executed."""


def comparison(first: Path, second: Path) -> Comparison:
    """The comparison of two run directories, finished or not.

    Raises:
        Refusal: one is none, or cannot be read.
    """
    runs = [RunDirectory.open(path) for path in (first, second)]
    records = [load(run) for run in runs]
    models = [run.model_file if run.model_file.exists() else None for run in runs]
    parts = [
        _part("recipe", [_recipe(record) for record in records], of_values, shown=None),
        _part("status", [record.status.name for record in records], of_values),
        _part("data", [_data(record) for record in records], of_values),
        _part("metrics", [record.metrics or None for record in records], of_rows, unit="steps"),
        _part("results", [_results(record) for record in records], of_values),
        _part("weights", models, of_tensors, unit="tensors"),
    ]
    return Comparison(
        same=all(part.same for part in parts),
        first=str(first),
        second=str(second),
        parts=parts,
        execution=list(_execution(*records)),
    )


def lines(compared: Comparison) -> Iterator[str]:
    """The same for people: a line for each part, and in the last what it comes to."""
    yield from (f"{side:11}{getattr(compared, side)}" for side in SIDES)
    for part in compared.parts:
        yield f"{part.name:11}{_verdict(part)}"
        if not part.same:
            yield from (f"  {_told(each)}" for each in part.differences)
    if compared.execution:
        yield "executed with"
        yield from (f"  {_told(each)}" for each in compared.execution)
    yield "the runs are the same" if compared.same else "the runs differ"


def _verdict(part: Part) -> str:
    if part.missing:
        return "neither has any" if part.same else f"the {part.missing[0]} run has none"
    if part.same:
        return "same"
    rest = part.differing - len(part.differences)
    return f"{part.differing} {part.unit} differ, first:" if rest else "differs:"


def _told(difference: Difference) -> str:
    where = f"{difference.where}: " if difference.where else ""
    return f"{where}{difference.first} / {difference.second}"


def _part(
    name: str,
    contents: list[Content | None],
    differ: Callable[[Content, Content], Iterator[Difference]],
    *,
    unit: str = "keys",
    shown: int | None = 1,
) -> Part:
    """Compare what both have; None stands for what a run lacks."""
    missing = [side for side, each in zip(SIDES, contents, strict=True) if each is None]
    there = [each for each in contents if each is not None]
    found = [] if missing else list(differ(there[0], there[1]))
    return Part(
        name=name,
        same=len(missing) != 1 and not found,
        missing=missing,
        unit=unit,
        differing=len(found),
        differences=found[:shown],
    )


def _recipe(record: RunRecord) -> dict[str, Any]:
    """The values that decide the result, without the paths of the data."""
    running = {field.name for field in fields(Running)}
    values = {key: value for key, value in record.config.items() if key not in running}
    data = values["data"]
    paths = path_fields(option_class(DataConfig, data["name"], path="data"))
    return {**values, "data": {key: data[key] for key in data if key not in paths}}


def _data(record: RunRecord) -> dict[str, Any] | None:
    return record.manifest.data and asdict(record.manifest.data)


def _results(record: RunRecord) -> dict[str, Any] | None:
    if record.results is None:
        return None
    return {key: value for key, value in record.results.items() if key != "throughput"}


def _execution(first: RunRecord, second: RunRecord) -> Iterator[Difference]:
    """As far as both have been executed."""
    one, other = (asdict(record.manifest) for record in (first, second))
    for name in EXECUTION:
        if one[name] is not None and other[name] is not None:
            yield from of_values(one[name], other[name], at=name)
