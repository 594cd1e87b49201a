"""What makes the runs of one report unfit for comparison, said at the top of the page."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from andrea_exp.record.manifest import Status
from andrea_exp.report.format import listing, quantity
from andrea_exp.report.table import Run, Table


class Caution(NamedTuple):
    """A box at the top of the page."""

    title: str
    text: str


def cautions(table: Table) -> Iterator[Caution]:
    """Runs that are missing from the numbers, then what should be equal in all runs and is not."""
    lost = [_lost(run) for run in table.runs if not run.completed and not run.repeats]
    if lost:
        kinds = [f"{lost.count(status)} {status}" for status in sorted(set(lost))]
        yield Caution(
            f"{len(lost)} of {quantity(len(table.runs), 'run')} left no results.",
            f"By status: {listing(kinds)}. They are listed below, and missing from every mean.",
        )
    if table.unreadable:
        yield Caution(
            f"{quantity(len(table.unreadable), 'run')} could not be read.",
            "What is wrong with their files is listed below; they are missing from every number.",
        )
    repeats = sum(run.repeats for run in table.runs)
    if repeats:
        yield Caution(
            f"{repeats} of {quantity(len(table.runs), 'run')} repeat a recipe, seed included.",
            "The newest of equal runs is counted; the others are listed below, and are no seeds.",
        )
    yield from _differing(
        table.runs,
        _data,
        title="These runs did not see the same data.",
        remedy="Their losses do not compare.",
    )
    yield from _differing(
        table.runs,
        _python,
        title="These runs had different versions of Python.",
        remedy="Data that comes with Python may differ, and so may random streams.",
    )
    yield from _differing(
        table.runs,
        _torch,
        title="These runs had different versions of torch.",
        remedy="Expect differences in the last digits.",
    )
    yield from _differing(
        table.runs,
        _program,
        title="These runs were made by different commits of the program.",
        remedy="See what changed in between before you compare.",
    )


def _lost(run: Run) -> str:
    status = run.record.status
    return "completed without results" if status is Status.completed else status.name


def _differing(
    runs: Sequence[Run], fact: Callable[[Run], str | None], *, title: str, remedy: str
) -> Iterator[Caution]:
    kinds: dict[str, int] = {}
    for run in runs:
        known = fact(run)
        if known is not None:
            kinds[known] = kinds.get(known, 0) + 1
    if len(kinds) > 1:
        counted = [f"{kind} ({kinds[kind]})" for kind in sorted(kinds)]
        yield Caution(title, f"Found, with the number of runs: {listing(counted)}. {remedy}")


def _data(run: Run) -> str | None:
    data = run.record.manifest.data
    return f"{data.name} {data.fingerprint[:12]}" if data else None


def _python(run: Run) -> str | None:
    platform = run.record.manifest.platform
    return platform.python if platform else None


def _torch(run: Run) -> str | None:
    return (run.record.manifest.packages or {}).get("torch")


def _program(run: Run) -> str | None:
    program = run.record.manifest.git
    return program.sha[:12] if program else None
