"""`-m`: every job of a grid is composed, checked and frozen; only then the first one starts."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from andrea_exp.command import DONE, FAILED, INTERRUPTED
from andrea_exp.component import Refusal
from andrea_exp.config.compose import hydra_ready
from andrea_exp.config.door import open_node
from andrea_exp.execution import EXIT
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.record.results import read_results
from andrea_exp.report.jobs import job_table
from andrea_exp.report.page import build
from andrea_exp.sweep.expand import Batch, expand
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.sweep.plan import plan, refuse_twins, settle


def run_sweep(overrides: Sequence[str]) -> int:
    """Run every job of a grid that is not finished yet, and write one report over all of them.

    Returns:
        The exit status: 0 if every job completed, 130 or 75 if one was stopped, else 1.

    Raises:
        Refusal: a job could not run here; nothing has been written.
    """
    sweep = _Sweep()
    interrupted = False
    with hydra_ready():
        try:
            expand(overrides, execute=sweep.execute)
        except KeyboardInterrupt:
            interrupted = True
    if sweep.left_to_scheduler:
        print(f"follow them with: python -m andrea_exp.status {shlex.quote(str(sweep.home))}")
        return DONE
    report = sweep.home / "report.html"
    paths = [directory.path for directory in sweep.directories.values()]
    build(paths, output=report)
    print(f"\n{job_table(paths)}\n\nreport  {report}")
    return INTERRUPTED if interrupted else sweep.exit_status()


@final
@dataclass
class _Sweep:
    """What one command has asked for so far, batch by batch."""

    directories: dict[Path, RunDirectory] = field(default_factory=dict[Path, RunDirectory])
    left_to_scheduler: bool = False

    @property
    def home(self) -> Path:
        """The folder of all jobs."""
        return next(iter(self.directories)).parent

    def execute(self, batch: Batch) -> list[float | None]:
        """Launch what is not finished; the validation loss of each job, None without one."""
        if not batch.jobs:
            raise Refusal("the grid is empty: a range or a list in it has no value")
        launcher = open_node(LauncherConfig, batch.launcher, path="hydra.launcher")
        jobs = plan(batch.jobs, launcher=launcher, fixed=batch.fixed)
        if not batch.searching:
            refuse_twins(jobs, batch.jobs)
        known = sum(job.found is not None for job in jobs)
        directories = settle(jobs)
        self.directories.update((directory.path, directory) for directory in directories)
        if known:
            _say_what_is_there(directories)
        waiting = [
            directory for directory in dict.fromkeys(directories) if not directory.is_finished()
        ]
        sweep = jobs[0].request.config.running.sweep
        if waiting:
            launcher.launch(waiting, sweep=sweep)
        self.left_to_scheduler = not sweep.wait
        return [_validation_loss(directory) for directory in directories]

    def exit_status(self) -> int:
        """What the manifests say, whatever a launcher may have seen."""
        statuses = {directory.shown_status() for directory in self.directories.values()}
        for stopped in (Status.interrupted, Status.preempted):
            if stopped in statuses:
                return EXIT[stopped]
        whole = all(_final(directory) for directory in self.directories.values())
        return DONE if whole and statuses == {Status.completed} else FAILED


def _say_what_is_there(directories: Sequence[RunDirectory]) -> None:
    counted = Counter(_told(directory) for directory in directories)
    found = ", ".join(f"{number} {status}" for status, number in counted.items())
    print(f"{len(directories)} jobs: {found}", flush=True)


def _told(directory: RunDirectory) -> str:
    status = directory.shown_status()
    lost = status is Status.completed and not directory.is_finished()
    return "completed without results.json, measured again" if lost else status.name


def _validation_loss(directory: RunDirectory) -> float | None:
    final = _final(directory)
    return final.get("val_loss_nats") if final else None


def _final(directory: RunDirectory) -> Mapping[str, float | None] | None:
    """The last losses of a completed job; None also where they are damaged, as the table says."""
    if directory.shown_status() is not Status.completed:
        return None
    try:
        return read_results(directory.results_file)["final"]
    except Refusal:
        return None
