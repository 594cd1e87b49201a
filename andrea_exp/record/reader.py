"""Reading what runs left: which directories there are, and one run's record as plain values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.metrics import Row, read_metrics
from andrea_exp.record.results import read_results


@final
@dataclass(kw_only=True, frozen=True)
class RunRecord:
    """One run, read once; nothing here looks at the disk again."""

    path: Path
    """Its directory; not for reports, which are the same wherever it lies."""
    name: str
    """Name of the directory: the job."""
    recipe_hash: str
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


def load(run: RunDirectory) -> RunRecord:
    """Everything a run has recorded so far.

    Raises:
        Refusal: a file is not what its name says, or was written by another version.
    """
    status = run.shown_status()
    frozen = _frozen(run)
    try:
        metrics = read_metrics(run.metrics_file) if run.metrics_file.exists() else []
    except ValueError as error:
        raise Refusal(str(error)) from error
    return RunRecord(
        path=run.path,
        name=run.path.resolve().name,
        recipe_hash=frozen.recipe_hash,
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
    nobody executes now. Newest is the last by name, as names begin with the time.
    """
    runs = [RunDirectory(path) for path in _folders(parent) if RunDirectory.is_one(path)]
    for run in reversed(runs):
        if _frozen(run).recipe_hash == recipe_hash and _can_go_on(run):
            return run
    return None


def _can_go_on(run: RunDirectory) -> bool:
    if run.is_locked():
        return False
    status = run.shown_status()
    if status is Status.failed:
        return any(run.checkpoints.glob("*.ckpt"))
    return status in {Status.pending, Status.interrupted, Status.preempted}


def _frozen(run: RunDirectory) -> FrozenConfig:
    text = run.config_file.read_text(encoding="utf-8")
    return FrozenConfig.parse(text, source=str(run.config_file))


def _runs_below(path: Path) -> Iterator[Path]:
    if RunDirectory.is_one(path):
        yield path
        return
    for folder in _folders(path):
        if not folder.is_symlink():
            yield from _runs_below(folder)


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
