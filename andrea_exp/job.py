"""`python -m andrea_exp.job DIR`: execute, or resume, the run that is frozen in a directory."""

import argparse
import logging
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from andrea_exp.command import DONE, FAILED, INTERRUPTED, PREEMPTED, finish
from andrea_exp.component import Refusal
from andrea_exp.execution import Execution
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.log import logging_to
from andrea_exp.record.manifest import Failure, Status, utc_now

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


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 done, 1 failed, 2 wrong request, 75 preempted, 130 interrupted."""
    parser = argparse.ArgumentParser(prog="python -m andrea_exp.job", description=__doc__)
    parser.add_argument("directory", type=Path, help="a run directory, pending or interrupted")
    arguments = parser.parse_args(argv)
    return finish(lambda: EXIT[execute(arguments.directory)])


def execute(path: Path) -> Status:
    """Train, measure and report one frozen run; a finished one is left as it is.

    Raises:
        Refusal: the directory is not a run, is in use, or cannot be resumed here.
    """
    directory = RunDirectory.open(path)
    with directory.lock(), logging_to(directory.log_file):
        before = directory.manifest()
        if before.status in (Status.completed, Status.nan):
            print(f"{path}: {before.status.name} already, left as it is")
            return before.status
        try:
            with _preemptible():
                status = Execution(directory).run()
        except (KeyboardInterrupt, _Preempted) as stop:
            preempted = isinstance(stop, _Preempted)
            status = Status.preempted if preempted else Status.interrupted
        except Refusal as refusal:
            failure = Failure(type="Refusal", message=str(refusal))
            directory.write_manifest(replace(before, failure=failure))
            raise
        except Exception as error:  # noqa: BLE001 -- whatever stops a run is recorded and reported
            _LOG.exception("the run failed")
            failure = Failure(type=type(error).__name__, message=str(error))
            directory.write_manifest(replace(directory.manifest(), failure=failure))
            print(f"failed: {failure.type}: {failure.message}\nsee {directory.log_file}")
            status = Status.failed
        ended = replace(directory.manifest(), status=status, ended_at=utc_now())
        directory.write_manifest(ended)
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


if __name__ == "__main__":
    sys.exit(main())
