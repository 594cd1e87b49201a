"""What a Slurm job calls: one run directory, and how the job ends."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import final

from submitit.core.utils import DelayedSubmission, UncompletedJobError
from submitit.slurm.slurm import SlurmJobEnvironment

from andrea_exp.command import REFUSED
from andrea_exp.execution import EXIT
from andrea_exp.record import slurm_queue
from andrea_exp.record.manifest import Status
from andrea_exp.sweep.worker import work


@final
@dataclass(frozen=True)
class Job:
    """A callable for submitit, which pickles it at submission and again when it requeues it."""

    path: Path
    """The run directory, absolute."""

    def __call__(self) -> None:
        """Execute the directory; unless it completed, the job fails in Slurm's books too."""
        status = work(self.path)
        if status is Status.preempted and _is_running():
            _requeue()
        if status is not Status.completed:
            sys.stdout.flush()
            sys.exit(EXIT.get(status, REFUSED))

    def checkpoint(self) -> DelayedSubmission:
        """What submitit runs after it has requeued the job: the same, which then resumes."""
        return DelayedSubmission(self)


def _is_running() -> bool:
    """Whether Slurm leaves it to the job what happens next.

    While a run executes, its own handlers take every signal. One at the time limit, or in the
    grace time of a preemption, finds the job in state RUNNING, and the job must requeue itself or
    it ends. A preemption without grace time has requeued it already, and `scancel` means an end;
    both show in the state.
    """
    queued = (slurm_queue.look() or {}).get(SlurmJobEnvironment().job_id)
    return queued is not None and queued.state == "RUNNING"


def _requeue() -> None:
    """Hand the signal back to submitit, whose handler requeues, and counts the time limits.

    Raises:
        SystemExit: it did; otherwise the limit on them is reached.
    """
    try:
        os.kill(os.getpid(), getattr(signal, f"SIG{SlurmJobEnvironment.USR_SIG}"))
    except UncompletedJobError:
        return  # submitit has said why
