"""Execute a frozen run directory: one process at a time, and a true status whatever happens."""

import logging
import shlex
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from andrea_exp.command import DONE, FAILED, INTERRUPTED, PREEMPTED
from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.log import logging_to
from andrea_exp.record.manifest import Failure, Status, utc_now
from andrea_exp.record.reader import load
from andrea_exp.report.page import build
from andrea_exp.report.terminal import summary
from andrea_exp.walk import Walk

_LOG = logging.getLogger(__name__)

EXIT = {
    Status.completed: DONE,
    Status.interrupted: INTERRUPTED,
    Status.preempted: PREEMPTED,
    Status.failed: FAILED,
    Status.nan: FAILED,
}
"""Exit status of a command that executed one run."""


class _Preempted(BaseException):
    """A scheduler asked this process to leave, outside the training loop."""


def execute_single(path: Path) -> int:
    """Execute a run that stands for itself: with a report of its own and a summary.

    Returns:
        The exit status of a command that did only this.

    Raises:
        Refusal: see `execute`.
    """
    status = execute(path)
    if status is Status.completed:
        directory = RunDirectory(path)
        build([path], output=directory.report_file)
        summary(load(directory))
    return EXIT[status]


def execute(path: Path) -> Status:
    """Train and measure one frozen run; a finished one is left as it is.

    Raises:
        Refusal: the directory is not a run, is in use, or cannot be resumed here.
    """
    directory = RunDirectory.open(path)
    with directory.lock(), logging_to(directory.log_file):
        before = directory.manifest()
        if before.status in (Status.completed, Status.nan):
            _LOG.warning("%s: %s already, left as it is", path, before.status.name)
            return before.status
        try:
            with _preemptible():
                status = Walk(directory).run()
        except (KeyboardInterrupt, _Preempted) as stop:
            preempted = isinstance(stop, _Preempted)
            status = Status.preempted if preempted else Status.interrupted
        except Refusal as refusal:
            failure = Failure(type="Refusal", message=str(refusal))
            directory.write_manifest(replace(before, failure=failure))
            raise
        except Exception as error:  # noqa: BLE001 -- whatever stops a run is recorded and reported
            failure = Failure(type=type(error).__name__, message=str(error))
            _LOG.exception(
                "failed: %s: %s; see %s", failure.type, failure.message, directory.log_file
            )
            directory.write_manifest(replace(directory.manifest(), failure=failure))
            status = Status.failed
        ended = replace(directory.manifest(), status=status, ended_at=utc_now())
        directory.write_manifest(ended)
        if status in (Status.interrupted, Status.preempted):
            command = f"python -m andrea_exp.job {shlex.quote(str(path))}"
            _LOG.warning("%s; go on with: %s", status.name, command)
    return status


@contextmanager
def _preemptible() -> Generator[None]:
    """Outside the training loop too, a scheduler's signal leaves a true status."""

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise _Preempted

    signals = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    before = [signal.signal(number, leave) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
