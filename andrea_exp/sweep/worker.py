"""What every launcher executes in the end: one frozen directory, whose record has the outcome."""

from pathlib import Path

from andrea_exp.component import Refusal
from andrea_exp.execution import execute
from andrea_exp.lock import Busy
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status


def work(path: Path) -> Status:
    """Execute one job, unless it is finished or in use; what goes wrong is in its record.

    Returns:
        The status that its manifest then has.
    """
    try:
        return execute(path)
    except Busy as busy:
        print(f"left alone: {busy}", flush=True)
    except Refusal as refusal:
        print(f"refused: {refusal}", flush=True)
    return RunDirectory(path).manifest().status
