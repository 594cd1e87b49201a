"""Execute a frozen run directory: one process at a time, and a true status whatever happens."""

import logging
import shlex
from dataclasses import replace
from pathlib import Path

from andrea_exp.command import DONE, FAILED, INTERRUPTED, PREEMPTED, Preempted, stoppable
from andrea_exp.component import Refusal
from andrea_exp.disk import DiskFull, writing
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


def execute_single(path: Path) -> int:
    """Execute a run that stands for itself: with a report of its own and a summary.

    Returns:
        The exit status of a command that did only this.

    Raises:
        Refusal: see `execute`.
        DiskFull: see `execute`.
    """
    status = execute(path)
    if status is not Status.completed:
        return EXIT[status]
    if not _report(RunDirectory(path)):
        return FAILED
    summary(load(RunDirectory(path)))
    return DONE


def execute(path: Path) -> Status:
    """Train and measure one frozen run; a finished one is left as it is.

    Raises:
        Refusal: the directory is not a run, is in use, or cannot be resumed here.
        DiskFull: there was no room even to take it up.
    """
    directory = RunDirectory.open(path)
    with directory.lock(), writing(directory.log_file), logging_to(directory.log_file):
        before = directory.manifest()
        if directory.is_finished():
            _LOG.warning("%s: %s already, left as it is", path, before.status.name)
            return before.status
        if before.status is Status.completed:
            _LOG.warning("%s: completed, but results.json is not there; measuring again", path)
        failure = None
        try:
            with stoppable():
                status = Walk(directory).run()
        except (KeyboardInterrupt, Preempted) as stop:
            preempted = isinstance(stop, Preempted)
            status = Status.preempted if preempted else Status.interrupted
        except Refusal as refusal:
            failure = Failure(type="Refusal", message=str(refusal))
            directory.write_manifest(replace(before, failure=failure))
            raise
        except Exception as error:  # noqa: BLE001 -- whatever stops a run is recorded and reported
            failure = _told(error, directory)
            status = Status.failed
        return _end(directory, status, failure=failure)


def _told(error: Exception, directory: RunDirectory) -> Failure:
    """Log what stopped a run."""
    failure = Failure(type=type(error).__name__, message=str(error))
    if isinstance(error, DiskFull):
        _LOG.error("failed: %s; then go on with: %s", failure.message, _command(directory))
    else:
        _LOG.exception("failed: %s: %s; see %s", failure.type, failure.message, directory.log_file)
    return failure


def _end(directory: RunDirectory, status: Status, *, failure: Failure | None) -> Status:
    """Record how an execution ended; without room for that, the run counts as interrupted."""
    try:
        manifest = directory.manifest()
        directory.write_manifest(
            replace(
                manifest, status=status, failure=failure or manifest.failure, ended_at=utc_now()
            )
        )
    except DiskFull as full:
        if status is not Status.failed:
            _LOG.error("failed: %s; then go on with: %s", full, _command(directory))
        return Status.failed
    if status in (Status.interrupted, Status.preempted):
        _LOG.warning("%s; go on with: %s", status.name, _command(directory))
    return status


def _report(directory: RunDirectory) -> bool:
    """Write the report of a completed run; whether that could be done."""
    with logging_to(directory.log_file):
        try:
            build([directory.path], output=directory.report_file)
        except Exception as error:  # noqa: BLE001 -- the run is complete, whatever happens here
            remedy = f"python -m andrea_exp.report {shlex.quote(str(directory.path))}"
            _LOG.exception(
                "the run is completed, but has no report: %s; write it with: %s", error, remedy
            )
            return False
    return True


def _command(directory: RunDirectory) -> str:
    return f"python -m andrea_exp.job {shlex.quote(str(directory.path))}"
