"""The shortest names that tell runs apart, made from what differs between their recipes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from andrea_exp.record.reader import RunRecord

ALWAYS = ("system", "position", "output")
"""Groups that are named whenever runs differ in them: what the laboratory is about."""
NOT_RECIPE = (
    "name",
    "outputs",
    "resume",
    "rerun",
    "question",
    "seeds",
    "claims",
    "runtime",
    "logger",
    "sweep",
)
"""Keys and groups of the configuration that do not decide a result."""


class Name(NamedTuple):
    """What a run is called in a report."""

    scheme: str
    """The position option: what colours go by."""
    rest: str
    """The other choices in which the runs of the report differ; empty if there are none."""
    run: str
    """Tells this run from every other one of the report."""

    @property
    def arm(self) -> str:
        """The name without the seed: runs of one arm differ by their seeds alone."""
        return ", ".join(word for word in (self.scheme, self.rest) if word)


def names(records: Sequence[RunRecord]) -> list[Name]:
    """One name per record, in their order."""
    facets = list(_needed(records))
    schemes = [_option(record, "position") for record in records]
    if not facets and len(set(schemes)) == 1:
        facets = [_output]
    rests = [
        ", ".join(word for word in (facet(record) for facet in facets) if word)
        for record in records
    ]
    several_seeds = len({seed(record) for record in records}) > 1
    found: list[Name] = []
    for record, scheme, rest in zip(records, schemes, rests, strict=True):
        name = Name(scheme, rest, "")
        words = [name.arm, f"seed {seed(record)}" if several_seeds else ""]
        found.append(name._replace(run=", ".join(word for word in words if word)))
    return _apart(found, records)


def seed(record: RunRecord) -> int | None:
    """The seed of a run."""
    return record.config.get("seed")


def settings(record: RunRecord) -> Iterator[tuple[str, Any]]:
    """Every value that decides a result, the seed aside, under its dotted key."""
    left_out = ("seed", *NOT_RECIPE)
    return _flatten({key: each for key, each in record.config.items() if key not in left_out})


def _apart(found: list[Name], records: Sequence[RunRecord]) -> list[Name]:
    """Repetitions of the same recipe and seed get the name of their directory, or a number."""
    runs = [name.run for name in found]
    spoken = [
        f"{name.run} ({record.name})" if runs.count(name.run) > 1 else name.run
        for name, record in zip(found, records, strict=True)
    ]
    numbered = [
        f"{run} no. {spoken[: i + 1].count(run)}" if spoken.count(run) > 1 else run
        for i, run in enumerate(spoken)
    ]
    return [name._replace(run=run) for name, run in zip(found, numbered, strict=True)]


Facet = Callable[[RunRecord], str]


def _needed(records: Sequence[RunRecord]) -> Iterator[Facet]:
    """The facets, beside position and seed, without which two different runs would look alike."""
    groups = sorted({group for record in records for group in record.choices} - {*NOT_RECIPE})
    first = [group for group in ALWAYS if group in groups and group != "position"]
    parts = [_option(record, "position") for record in records]
    for group in [*first, *(group for group in groups if group not in ALWAYS)]:
        options = [_option(record, group) for record in records]
        refined = [f"{part}\n{option}" for part, option in zip(parts, options, strict=True)]
        spoken_for = group in first and len(set(options)) > 1
        if spoken_for or len(set(refined)) > len(set(parts)):
            yield lambda record, group=group: _option(record, group)
            parts = refined
    flat = [dict(settings(record)) for record in records]
    keys = sorted({key for values in flat for key in values})
    leaves = [key.rpartition(".")[2] for key in keys]
    for key, leaf in zip(keys, leaves, strict=True):
        values = [each.get(key) for each in flat]
        if _differs(parts, values):
            spoken = leaf if leaves.count(leaf) == 1 else key
            yield lambda record, key=key, spoken=spoken: _setting(record, key, spoken=spoken)
            parts = [f"{part}\n{value!r}" for part, value in zip(parts, values, strict=True)]


def _differs(parts: Sequence[str], values: Sequence[object]) -> bool:
    """Whether runs that look alike so far have different values."""
    seen: dict[str, object] = {}
    return any(
        seen.setdefault(part, value) != value for part, value in zip(parts, values, strict=True)
    )


def _option(record: RunRecord, group: str) -> str:
    return record.choices.get(group) or ""


def _output(record: RunRecord) -> str:
    return _option(record, "output")


def _setting(record: RunRecord, key: str, *, spoken: str) -> str:
    """A value with its key; of a path, the last part."""
    value = dict(settings(record)).get(key)
    return "" if value is None else f"{spoken}={str(value).rpartition('/')[2]}"


def _flatten(values: Mapping[str, Any], *, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, prefix=f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
