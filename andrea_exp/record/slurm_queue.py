"""What waits or runs in Slurm's queue, as `squeue` tells it."""

import os
import subprocess
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.submission import Submission

PATIENCE_S = 60
"""Seconds in which Slurm's commands have to answer; they try again by themselves meanwhile."""


class Queued(NamedTuple):
    """One job that has not left the queue."""

    state: str
    """As Slurm writes it: `PENDING`, `RUNNING`, `COMPLETING` ..."""
    reason: str
    """Why it does not run: `Resources`, `Priority`, `JobHeldUser` ...; `None` if it does."""


def look() -> dict[str, Queued] | None:
    """Job id -> state of every job of this user; None where Slurm does not answer."""
    # Variables of squeue itself would hide some of the jobs.
    environment = {key: text for key, text in os.environ.items() if not key.startswith("SQUEUE_")}
    try:
        done = subprocess.run(
            ["squeue", "--noheader", "--array", f"--user={os.getuid()}", "--format=%i|%T|%r"],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    rows = (line.split("|", maxsplit=2) for line in done.stdout.splitlines())
    return {job_id: Queued(state, reason) for job_id, state, reason in rows}


def places(runs: Iterable[RunDirectory], queue: Mapping[str, Queued]) -> dict[RunDirectory, str]:
    """Run -> job id, of those runs whose job has not left the queue."""
    submitted = {run: Submission.of(run) for run in runs}
    return {
        run: submission.job_id
        for run, submission in submitted.items()
        if submission is not None and submission.job_id in queue
    }


def told(job_id: str, queued: Queued) -> str:
    """A job's place in words: `queued as 123_4 (Resources)`, `running as 123_4`."""
    if queued.state == "PENDING":
        return f"queued as {job_id} ({queued.reason})"
    return f"{queued.state.lower()} as {job_id}"
