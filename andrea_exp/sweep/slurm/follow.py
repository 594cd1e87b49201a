"""Waiting for jobs in Slurm's queue."""

import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Mapping

from andrea_exp.command import Preempted
from andrea_exp.component import Refusal
from andrea_exp.record import slurm_queue
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.record.slurm_queue import PATIENCE_S, Queued
from andrea_exp.record.submission import Submission

_FAILED = (Status.failed, Status.nan)


def follow(jobs: Mapping[str, RunDirectory], *, poll_s: float, fail_fast: bool) -> None:
    """Wait until no job is in the queue any more, and say how many are in which state.

    Args:
        jobs: job id -> its run.
        poll_s: seconds between two looks.
        fail_fast: after a failed run, cancel what has not started.

    Raises:
        KeyboardInterrupt: a person stopped waiting; the jobs stay where they are.
        Preempted: a scheduler did.
    """
    said, watching = "", fail_fast
    try:
        while True:
            queue = slurm_queue.look()
            line = "squeue does not answer" if queue is None else _states(jobs, queue)
            if line != said:
                print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)
            said = line
            if queue is not None and not queue.keys() & jobs.keys():
                break
            if watching and any(run.manifest().status in _FAILED for run in jobs.values()):
                watching = False
                _cancel_waiting(jobs)
            time.sleep(poll_s)
    except (KeyboardInterrupt, Preempted):
        print(
            f"\nthe jobs stay with Slurm; end them with: {ending(jobs)}\n"
            "the same sweep command waits for them again",
            flush=True,
        )
        raise
    for job_id, run in jobs.items():
        _say_if_it_never_ran(job_id, run)


def ending(job_ids: Iterable[str]) -> str:
    """The command that ends these jobs."""
    arrays = dict.fromkeys(job_id.partition("_")[0] for job_id in job_ids)
    return " ".join(["scancel", *arrays])


def _states(jobs: Mapping[str, RunDirectory], queue: Mapping[str, Queued]) -> str:
    """`2 pending (Resources), 1 running, 3 ended`."""
    states = Counter[str]()
    for job_id in jobs:
        queued = queue.get(job_id)
        waits = queued is not None and queued.state == "PENDING"
        name = "ended" if queued is None else queued.state.lower()
        states[f"{name} ({queued.reason})" if queued is not None and waits else name] += 1
    return ", ".join(f"{number} {state}" for state, number in sorted(states.items()))


def _cancel_waiting(jobs: Mapping[str, RunDirectory]) -> None:
    fresh = [job_id for job_id, run in jobs.items() if run.manifest().status is Status.pending]
    if not fresh:
        return
    print("a run failed: what has not started is cancelled (sweep.fail_fast=true)", flush=True)
    try:
        subprocess.run(
            ["scancel", "--quiet", "--state=PENDING", *fresh], check=True, timeout=PATIENCE_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Refusal(f"scancel failed ({error}); end the jobs with: {ending(jobs)}") from error


def _say_if_it_never_ran(job_id: str, run: RunDirectory) -> None:
    """Whatever goes wrong in a job before its run begins, or kills it, is in the job's own log."""
    submission = Submission.of(run)
    log = submission and submission.log_file(run)
    if log and log.exists() and run.shown_status() in (Status.pending, Status.interrupted):
        print(f"job {job_id} ended, and its run is {run.shown_status().name}; see {log}")
