"""`-m`: every job of a grid is composed, checked and frozen; only then the first one starts."""

from collections.abc import Sequence
from pathlib import Path

from andrea_exp.assemble import Run
from andrea_exp.command import DONE, FAILED
from andrea_exp.component import Refusal
from andrea_exp.config.compose import compose_ready, hydra_ready
from andrea_exp.config.frozen import freeze
from andrea_exp.config.request import Request, typed
from andrea_exp.execution import EXIT, execute
from andrea_exp.freeze import freeze_job, home
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.report.page import build
from andrea_exp.sweep.expand import Batch, expand
from andrea_exp.sweep.naming import job_names


def run_sweep(overrides: Sequence[str]) -> int:
    """Run every job of a grid, one after the other, and write one report over them.

    Returns:
        The exit status: 0 if every job completed, 130 or 75 if one was stopped, else 1.

    Raises:
        Refusal: a job could not run here, or exists already; nothing has been written.
    """
    directories: list[RunDirectory] = []

    def run_batch(batch: Batch) -> None:
        if not batch:
            raise Refusal("the grid is empty: a range or a list in it has no value")
        requests = [_request(words) for words in batch]
        frozen = _freeze_all(requests, batch)
        directories.extend(frozen)
        _execute_all(frozen, fail_fast=requests[0].config.running.sweep.fail_fast)

    with hydra_ready():
        expand(overrides, execute=run_batch)
    report = directories[0].path.parent / "report.html"
    build([directory.path for directory in directories], output=report)
    _print_table(directories, report=report)
    statuses = {directory.shown_status() for directory in directories}
    for stopped in (Status.interrupted, Status.preempted):
        if stopped in statuses:
            return EXIT[stopped]
    return DONE if statuses == {Status.completed} else FAILED


def _request(words: Sequence[str]) -> Request:
    request = typed(compose_ready(words))
    if any(word.partition("=")[::2] == ("seed", "null") for word in words):
        raise Refusal("seed=null under -m: jobs would not be found again; give seeds, seed=0,1,2")
    if request.config.running.resume:
        raise Refusal(
            "resume=true under -m: single runs are resumed so; go on with one job of a sweep by "
            "`python -m andrea_exp.job DIR`"
        )
    return request


def _freeze_all(requests: Sequence[Request], batch: Batch) -> list[RunDirectory]:
    """Check every job, then freeze every job."""
    homes = sorted({str(home(request)) for request in requests})
    if len(homes) > 1:
        raise Refusal(
            f"the jobs would go to {', '.join(homes)}; a sweep has one name= and one outputs="
        )
    for request in requests:
        Run(request.config).check()
    hashes = [freeze(request).recipe_hash for request in requests]
    if len(set(hashes)) < len(hashes):
        twice = next(digest for digest in hashes if hashes.count(digest) > 1)
        words = " ".join(batch[hashes.index(twice)])
        raise Refusal(f"two jobs of the grid are the same run: {words}; name each value once")
    names = job_names(batch, hashes)
    for request, name in zip(requests, names, strict=True):
        if (home(request) / name).exists():
            raise Refusal(
                f"{home(request) / name} exists already; choose another name=, or remove it"
            )
    return [freeze_job(request, job=name) for request, name in zip(requests, names, strict=True)]


def _execute_all(directories: Sequence[RunDirectory], *, fail_fast: bool) -> None:
    for number, directory in enumerate(directories, start=1):
        print(f"[{number}/{len(directories)}] {directory.path.name}", flush=True)
        try:
            status = execute(directory.path)
        except Refusal as refusal:
            print(f"refused: {refusal}")
            status = Status.failed
        stopped = status in (Status.interrupted, Status.preempted)
        if stopped or (fail_fast and status is not Status.completed):
            return


def _print_table(directories: Sequence[RunDirectory], *, report: Path) -> None:
    """A line per job, unshortened whatever the width, and below a failed one what went wrong."""
    width = max(len(status.name) for status in Status)
    print(f"\n{'status':{width}}  job")
    for directory in directories:
        print(f"{directory.shown_status().name:{width}}  {directory.path.name}")
        if failure := directory.manifest().failure:
            print(f"{'':{width}}  {failure.message}\n{'':{width}}  {directory.log_file}")
    print(f"\nreport  {report}")
