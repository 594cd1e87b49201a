"""`hydra/launcher=joblib`: several jobs at once, in workers that live as long as the sweep.

A worker that is killed, by a person or for its memory, ends the pool. What it and the others were
at has a free lock then, and a new pool goes on with it from the last checkpoint.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, final

from joblib import Parallel, delayed  # pyright: ignore[reportMissingTypeStubs]
from joblib.externals.loky.process_executor import (  # pyright: ignore[reportMissingTypeStubs]
    TerminatedWorkerError,
)
from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.config.run import RunConfig, SweepConfig
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Failure, Status, utc_now
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.sweep.worker import work
from andrea_exp.train.runtime import usable_cores

MOST_DEATHS = 3
"""A job whose process died so often is given up. The last time it runs alone, so it is why."""


@final
@dataclass(kw_only=True, frozen=True)
class JoblibLauncherConfig(LauncherConfig):
    """Local processes."""

    n_jobs: int | None = field(metadata=at_least(1))
    """Jobs at once; null: as many as there are cores."""

    @override
    def threads_per_job(self) -> int | None:
        return max(1, usable_cores() // self._at_once)

    @override
    def reasons(self, jobs: Sequence[RunConfig], *, sweep: SweepConfig) -> list[str]:
        found = super().reasons(jobs, sweep=sweep)
        runtimes = [job.running.runtime for job in jobs]
        most = max((each.threads or 1) * each.devices for each in runtimes)
        if min(self._at_once, len(jobs)) * most > usable_cores():
            found.append(
                f"hydra.launcher.n_jobs={self._at_once} at once, each with {most} threads, are "
                f"more than the {usable_cores()} cores here; give a smaller hydra.launcher.n_jobs "
                "or runtime.threads"
            )
        return found

    @override
    def launch(self, directories: Sequence[RunDirectory], *, sweep: SweepConfig) -> None:
        board = _Board(directories, fail_fast=sweep.fail_fast)
        with _signals_passed_on(board):
            while board.waiting:
                try:
                    self._execute(board)
                except TerminatedWorkerError:
                    board.count_deaths()
        if board.stopped:
            raise KeyboardInterrupt

    def _execute(self, board: "_Board") -> None:
        at_once = 1 if board.suspects else self._at_once
        settings: dict[str, Any] = {  # joblib's own annotations are narrower than what it takes
            "n_jobs": max(2, self._at_once),  # of one it would execute the jobs in this process
            "backend": "loky",
            "batch_size": 1,
            "pre_dispatch": at_once,
            "return_as": "generator_unordered",
            "initializer": _prepare,
        }
        pool: Any = Parallel(**settings)
        for path, status in pool(delayed(_work)(path) for path in board.dispatch()):
            board.tell(path, status)

    @property
    def _at_once(self) -> int:
        return self.n_jobs or usable_cores()


@final
class _Board:
    """Which jobs are still to be handed out."""

    def __init__(self, directories: Sequence[RunDirectory], *, fail_fast: bool) -> None:
        self._directories = {directory.path: directory for directory in directories}
        self._fail_fast = fail_fast
        self._deaths: Counter[Path] = Counter()
        self._told: set[Path] = set()
        self._out: set[Path] = set()
        self.waiting = list(self._directories)
        self.stopped = False

    @property
    def suspects(self) -> set[Path]:
        """Jobs that may have been what killed their worker, to be tried one by one."""
        return {path for path in self.waiting if self._deaths[path] == MOST_DEATHS - 1}

    def dispatch(self) -> Iterator[Path]:
        """The next job, each time that a worker is free, until none is to be started now."""
        trying = self.suspects
        while self.waiting and not self.stopped:
            if trying and not self.suspects:
                return
            if self._fail_fast and any(map(self._failed, self._out)):
                self.waiting = []
                return
            path = self.waiting.pop(0)
            self._out.add(path)
            yield path
        self.waiting = []

    def tell(self, path: Path, status: Status) -> None:
        """Print that a job has ended."""
        self._told.add(path)
        place = f"[{len(self._told)}/{len(self._directories)}]"
        print(f"{place} {status.name}  {path.name}", flush=True)

    def count_deaths(self) -> None:
        """After a pool has died: what it was at is handed out again, before the others."""
        lost = [path for path in self._out - self._told if not self._finished(path)]
        for path in lost:
            self._deaths[path] += self._directories[path].manifest().status is Status.running
        again = [path for path in lost if self._deaths[path] < MOST_DEATHS]
        for path in set(lost) - set(again):
            _give_up(self._directories[path])
            self.tell(path, Status.failed)
        self._out -= set(again)
        self.waiting = [] if self.stopped else [*sorted(again), *self.waiting]
        if self.waiting:
            print(f"a worker was killed; going on with {len(again)} of its pool's jobs", flush=True)

    def stop(self) -> None:
        """Hand out nothing more, and ask those that run to leave."""
        self.stopped = True
        for path in self._out - self._told:
            process = self._directories[path].holder()
            if process is not None:
                os.kill(process, signal.SIGTERM)

    def _finished(self, path: Path) -> bool:
        directory = self._directories[path]
        return directory.is_finished() or directory.shown_status() is Status.failed

    def _failed(self, path: Path) -> bool:
        return self._directories[path].shown_status() in (Status.failed, Status.nan)


@contextmanager
def _signals_passed_on(board: _Board) -> Generator[None]:
    """A first signal lets the running jobs leave with a checkpoint; a second one does not wait."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if board.stopped and number == signal.SIGINT:
            raise KeyboardInterrupt
        print("stopping: the running jobs leave with a checkpoint", file=sys.stderr, flush=True)
        board.stop()

    before = [signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)


def _give_up(directory: RunDirectory) -> None:
    message = (
        f"its process was killed {MOST_DEATHS} times; perhaps there is too little memory for so "
        "many jobs at once, then give a smaller hydra.launcher.n_jobs"
    )
    with directory.lock():
        failure = Failure(type="ProcessKilled", message=message)
        manifest = replace(
            directory.manifest(), status=Status.failed, failure=failure, ended_at=utc_now()
        )
        directory.write_manifest(manifest)


def _work(path: Path) -> tuple[Path, Status]:
    return path, work(path)


def _prepare() -> None:
    """A worker is stopped by the sweep, not by the terminal, and is heard in its jobs' logs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    silence: Any = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 -- as long as it lives
    sys.stdout = sys.stderr = silence
