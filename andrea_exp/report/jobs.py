"""The jobs of a sweep, a line for each: how far it is, what came out, and what went wrong."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, final

from andrea_exp.component import Refusal
from andrea_exp.record import slurm_queue
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import RunRecord, discover, load
from andrea_exp.record.submission import Submission
from andrea_exp.report.format import MISSING, fixed, signed

HEADS = ("status", "step", "time", "val loss", "rise", "job")


@final
@dataclass(kw_only=True, frozen=True)
class JobState:
    """One job as its directory tells it now; null where that does not apply or is not known yet."""

    path: str
    job: str
    """Name of the directory."""
    status: str
    """One of the manifest's, or `unreadable`."""
    step: int | None = None
    """The last one that was logged."""
    max_steps: int | None = None
    trained_s: float | None = None
    """Seconds of training so far, over all executions."""
    val_loss_nats: float | None = None
    """At T."""
    rise_nats: float | None = None
    """Of the tail loss at the shortest length past T, under the declared policy."""
    reason: str | None = None
    """Why it failed, or cannot be read."""
    queue: str | None = None
    """Its place in Slurm's queue."""
    log: str | None = None
    """The file with what it said."""


def job_states(paths: Sequence[Path]) -> list[JobState]:
    """The jobs at or below these paths.

    Raises:
        Refusal: a path does not exist, or has no run at or below it.
    """
    runs = discover(paths)
    submitted = any(run.submission_file.exists() for run in runs)
    queue = (slurm_queue.look() if submitted else None) or {}
    places = slurm_queue.places(runs, queue)
    told = {run: slurm_queue.told(job_id, queue[job_id]) for run, job_id in places.items()}
    return [_state(run, queue=told.get(run)) for run in runs]


def job_table(paths: Sequence[Path]) -> str:
    """The same as text: a line per job, unshortened whatever the width."""
    states = job_states(paths)
    rows = [HEADS, *(_cells(state) for state in states)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    indent = " " * (widths[0] + 2)
    lines = [_line(HEADS, widths)]
    for state, row in zip(states, rows[1:], strict=True):
        lines.append(_line(row, widths))
        lines += [indent + line for line in _details(state)]
    return "\n".join(lines)


def _state(run: RunDirectory, *, queue: str | None) -> JobState:
    try:
        return _readable(run, load(run), queue=queue)
    except Refusal as refusal:
        return JobState(
            path=str(run.path), job=run.path.name, status="unreadable", reason=str(refusal)
        )


def _readable(run: RunDirectory, record: RunRecord, *, queue: str | None) -> JobState:
    last = record.metrics[-1] if record.metrics else {}
    final = record.results["final"] if record.results else {}
    return JobState(
        path=str(run.path),
        job=record.name,
        status=record.status.name,
        step=int(last["step"] or 0) if last else 0,
        max_steps=record.config["trainer"]["max_steps"],
        trained_s=last.get("elapsed_s"),
        val_loss_nats=final.get("val_loss_nats"),
        rise_nats=_first_rise(record.results["lengths"] if record.results else []),
        reason=_reason(record),
        queue=queue,
        log=_log(run),
    )


def _reason(record: RunRecord) -> str | None:
    if record.status is Status.completed:
        return None if record.results is not None else _lost(record)
    failure = record.manifest.failure
    return failure.message if failure else None


def _lost(record: RunRecord) -> str:
    command = f"python -m andrea_exp.job {shlex.quote(str(record.path))}"
    return f"results.json is not there; what was trained is measured again by: {command}"


def _log(run: RunDirectory) -> str | None:
    """What the run said, or before it could say anything, what its job on a cluster did."""
    if run.log_file.exists():
        return str(run.log_file)
    submission = Submission.of(run)
    return None if submission is None else str(submission.log_file(run))


def _first_rise(lengths: Iterable[dict[str, Any]]) -> float | None:
    """Of the rows of one length, those under the declared policy come first."""
    past = [row for row in lengths if row["factor"] > 1]
    return min(past, key=lambda row: row["factor"])["rise_nats"] if past else None


def _details(state: JobState) -> list[str]:
    """What stands below a job that is not simply done."""
    lines = [*(state.reason or "").splitlines(), *([state.queue] if state.queue else [])]
    lost = state.status in (Status.interrupted.name, Status.preempted.name)
    return [*lines, state.log] if state.log and (state.reason or lost) else lines


def _cells(state: JobState) -> tuple[str, ...]:
    time = MISSING if state.trained_s is None else str(timedelta(seconds=round(state.trained_s)))
    step = MISSING if state.step is None else f"{state.step}/{state.max_steps}"
    return (
        state.status,
        step,
        time,
        fixed(state.val_loss_nats),
        signed(state.rise_nats),
        state.job,
    )


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Numbers to the right; the first and the last cell to the left."""
    first, *numbers, last = cells
    middle = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([first.ljust(widths[0]), *middle, last])
