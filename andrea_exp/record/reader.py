"""Reading what runs left: which directories there are, and one run's record as plain values."""

import logging
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, final

from andrea_exp.component import Refusal
from andrea_exp.record.bench import PATTERN, BenchFile
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.metrics import Row, read_metrics
from andrea_exp.record.results import IncompleteResults, Part, read_results

_LOG = logging.getLogger(__name__)


@final
@dataclass(kw_only=True, frozen=True)
class RunRecord:
    """One run, read once; nothing here looks at the disk again."""

    path: Path
    """Its directory; not for reports, which are the same wherever it lies."""
    name: str
    """Name of the directory: the job."""
    recipe_hash: str
    claims_hash: str | None
    """Of the claims that the experiment made when the run was frozen."""
    choices: dict[str, str]
    """Group -> option."""
    config: dict[str, Any]
    """Every resolved value, nested by group."""
    manifest: Manifest
    metrics: list[Row]
    """One row per logged step; empty before the first."""
    results: dict[str, Any] | None
    """None before the evaluation has ended."""
    status: Status
    """As people are told it: a run that nobody executes any more is interrupted."""


@final
@dataclass(kw_only=True, frozen=True)
class UnreadableRun:
    """A run with a file that is damaged, is missing, or was written by another version."""

    path: Path
    name: str
    """Name of the directory: the job."""
    reason: str
    """Which file, and what is wrong with it."""


class Survey(NamedTuple):
    """What the directories below some paths hold."""

    records: list[RunRecord]
    unreadable: list[UnreadableRun]
    benches: Sequence[BenchFile] = ()
    """What andrea_exp.bench has left there."""


def survey(paths: Sequence[Path]) -> Survey:
    """Every run at or below these paths; one that cannot be read stands in no other's way.

    Raises:
        Refusal: a path does not exist or has no run at or below it, or no run can be read.
    """
    runs = discover(paths)
    found = Survey([], [], benches(paths))
    for run in runs:
        try:
            found.records.append(load(run))
        except Refusal as refusal:
            found.unreadable.append(_unreadable(run.path, name=_name(run), why=refusal))
    if not found.records:
        raise Refusal("\n".join(f"{each.path}: {each.reason}" for each in found.unreadable))
    return found


def without(found: Survey, damage: IncompleteResults) -> Survey:
    """The same runs, of which the one whose results lack a key that is needed cannot be read.

    Raises:
        Refusal: no run is left.
    """
    damaged = [
        run
        for run in found.records
        if isinstance(run.results, Part) and run.results.file == damage.file
    ]
    if len(damaged) == len(found.records):
        raise damage
    return Survey(
        [run for run in found.records if run not in damaged],
        [
            *found.unreadable,
            *(_unreadable(run.path, name=run.name, why=damage) for run in damaged),
        ],
        found.benches,
    )


def discover(paths: Sequence[Path]) -> list[RunDirectory]:
    """The run directories at or below these paths, each once, in the order of paths and names.

    Numbers in names count as numbers. Hidden folders and links to folders are passed over, and
    run directories are not searched.

    Raises:
        Refusal: a path does not exist, or has no run at or below it.
    """
    found: dict[Path, RunDirectory] = {}
    for path in paths:
        if not path.exists():
            raise Refusal(f"{path} does not exist")
        below = [RunDirectory(run) for run in _runs_below(path)]
        if not below:
            raise Refusal(
                f"{path} holds no run of andrea_exp; give a run directory, a sweep or an outputs "
                "folder"
            )
        for run in below:
            found.setdefault(run.path.resolve(), run)
    return list(found.values())


def benches(paths: Sequence[Path]) -> list[BenchFile]:
    """The records of bench in these paths and in the folders that runs are looked for in.

    The first recorded is the first, wherever they lie; those that cannot be read are the last.
    """
    files = {
        file.resolve()
        for path in paths
        for folder in _searched(path)
        for file in folder.glob(PATTERN)
        if file.is_file()
    }
    found = [BenchFile.read(file) for file in files]
    return sorted(found, key=lambda each: (each.bench is None, _when(each), each.name))


def load(run: RunDirectory) -> RunRecord:
    """Everything a run has recorded so far.

    Raises:
        Refusal: a file is not what its name says, or was written by another version.
    """
    status = run.shown_status()
    frozen = run.config()
    try:
        metrics = read_metrics(run.metrics_file) if run.metrics_file.exists() else []
    except OSError as error:
        raise Refusal(f"{run.metrics_file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Refusal(str(error)) from error
    return RunRecord(
        path=run.path,
        name=_name(run),
        recipe_hash=frozen.recipe_hash,
        claims_hash=frozen.claims_hash,
        choices=frozen.choices,
        config=frozen.config,
        manifest=run.manifest(),
        metrics=metrics,
        results=read_results(run.results_file) if run.results_file.exists() else None,
        status=status,
    )


def newest_unfinished(parent: Path, recipe_hash: str) -> RunDirectory | None:
    """The newest run of a recipe, directly in a folder, that can be started or resumed.

    That is one that waits, was interrupted or preempted, or failed with a checkpoint, and that
    nobody executes now. Newest is the last by name, as names begin with the time. One that cannot
    be read is passed over with a warning.
    """
    runs = [RunDirectory(path) for path in _folders(parent) if RunDirectory.is_one(path)]
    for run in reversed(runs):
        try:
            if run.config().recipe_hash == recipe_hash and _can_go_on(run):
                return run
        except Refusal as refusal:
            _LOG.warning("%s is passed over: %s", run.path, refusal)
    return None


def _unreadable(path: Path, *, name: str, why: Refusal) -> UnreadableRun:
    """The reason names files as they are called in the run's directory, wherever that lies."""
    folder = why.file.parent if isinstance(why, IncompleteResults) else path
    return UnreadableRun(path=path, name=name, reason=str(why).replace(f"{folder}{os.sep}", ""))


def _can_go_on(run: RunDirectory) -> bool:
    if run.is_locked():
        return False
    status = run.shown_status()
    if status is Status.failed:
        return any(run.checkpoints.glob("*.ckpt"))
    return not run.is_finished()


def _name(run: RunDirectory) -> str:
    """Name of the directory; bytes in it that are not UTF-8 are replaced."""
    return os.fsencode(run.path.resolve().name).decode(errors="replace")


def _when(file: BenchFile) -> str:
    return file.bench.recorded_at if file.bench else ""


def _runs_below(path: Path) -> Iterator[Path]:
    return (folder for folder in _searched(path) if _holds_run(folder))


def _searched(path: Path) -> Iterator[Path]:
    """A path and the visible folders below it, down to run directories, which are not searched."""
    yield path
    if _holds_run(path):
        return
    for folder in _folders(path):
        if not folder.is_symlink():
            yield from _searched(folder)


def _holds_run(path: Path) -> bool:
    return RunDirectory.is_one(path) or RunDirectory.was_one(path)


def _folders(path: Path) -> list[Path]:
    """The visible folders in a folder, in the order of their names; none if it is not there."""
    if not path.is_dir():
        return []
    visible = (entry for entry in path.iterdir() if not entry.name.startswith("."))
    return sorted((entry for entry in visible if entry.is_dir()), key=_by_name)


def _by_name(path: Path) -> list[str | int]:
    """Sorts `a-2` before `a-10`. Texts and numbers alternate, so they are never compared."""
    parts = re.split(r"(\d+)", path.name)
    return [int(part) if part.isdecimal() else part for part in parts]
