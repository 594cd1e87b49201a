"""Which jobs a grid has, and which directory each of them has or gets."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from andrea_exp.assemble import Run
from andrea_exp.component import Refusal
from andrea_exp.config.compose import compose_ready
from andrea_exp.config.frozen import freeze
from andrea_exp.config.request import Request, typed
from andrea_exp.freeze import freeze_job, home, refuse_other_execution
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Status
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.sweep.naming import digest_and_number, job_names


@final
@dataclass(kw_only=True, frozen=True)
class Job:
    """One job of a grid: what is asked for, and where that has been done before, if it has."""

    request: Request
    frozen: FrozenConfig
    name: str
    """Of its directory, if it gets one."""
    found: RunDirectory | None


def plan(
    words: Sequence[Sequence[str]], *, launcher: LauncherConfig, fixed: Collection[str]
) -> list[Job]:
    """Compose and check every job. Nothing is written.

    Args:
        words: the override words of each job.
        launcher: what will execute them.
        fixed: words that later jobs share, which a name does not need.

    Raises:
        Refusal: a job is wrong, could not run here, or lies beside the others.
    """
    requests = [_request(job, launcher=launcher) for job in words]
    folder = _one_home(requests)
    found = {} if requests[0].config.running.rerun else _found(folder)
    frozen = [freeze(request) for request in requests]
    names = job_names(words, [each.recipe_hash for each in frozen], fixed=fixed)
    jobs = [
        Job(request=request, frozen=each, name=name, found=found.get(each.recipe_hash))
        for request, each, name in zip(requests, frozen, names, strict=True)
    ]
    _check(jobs, elsewhere=launcher.executes_elsewhere())
    configs = [request.config for request in requests]
    if reasons := launcher.reasons(configs, sweep=configs[0].running.sweep):
        raise Refusal("\n".join(reasons))
    return jobs


def settle(jobs: Sequence[Job]) -> list[RunDirectory]:
    """The directory of each job: the one that was found, or a new one, frozen and pending.

    Jobs of the same recipe share one.
    """
    settled: dict[str, RunDirectory] = {}
    for job in jobs:
        if job.frozen.recipe_hash not in settled:
            settled[job.frozen.recipe_hash] = job.found or _freeze(job)
    return [settled[job.frozen.recipe_hash] for job in jobs]


def refuse_twins(jobs: Sequence[Job], words: Sequence[Sequence[str]]) -> None:
    """A value that is named twice would count one run as two.

    Raises:
        Refusal: two jobs have the same recipe.
    """
    seen: set[str] = set()
    for job, said in zip(jobs, words, strict=True):
        if job.frozen.recipe_hash in seen:
            raise Refusal(
                f"two jobs of the grid are the same run: {' '.join(said)}; name each value once"
            )
        seen.add(job.frozen.recipe_hash)


def _request(words: Sequence[str], *, launcher: LauncherConfig) -> Request:
    composed = compose_ready(words)
    if any(word.partition("=")[::2] == ("seed", "null") for word in words):
        raise Refusal("seed=null under -m: jobs would not be found again; give seeds, seed=0,1,2")
    runtime = composed.values["runtime"]
    if runtime.get("threads") is None and (threads := launcher.threads_per_job()) is not None:
        values = {**composed.values, "runtime": {**runtime, "threads": threads}}
        composed = replace(composed, values=values)
    request = typed(composed)
    if request.config.running.resume:
        raise Refusal("resume=true under -m: the same sweep command goes on without it")
    return request


def _one_home(requests: Sequence[Request]) -> Path:
    homes = sorted({str(home(request)) for request in requests})
    if len(homes) > 1:
        raise Refusal(
            f"the jobs would go to {', '.join(homes)}; a sweep has one name= and one outputs="
        )
    return Path(homes[0])


def _found(folder: Path) -> dict[str, RunDirectory]:
    """Recipe's hash -> the newest directory of a sweep's job with it."""
    newest: dict[str, tuple[int, RunDirectory]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        digest, number = digest_and_number(path.name)
        if digest is None or not RunDirectory.is_one(path):
            continue
        if number > newest.get(digest, (0, None))[0]:
            newest[digest] = (number, RunDirectory(path))
    return {digest: directory for digest, (_, directory) in newest.items()}


def _check(jobs: Sequence[Job], *, elsewhere: bool) -> None:
    """What is finished needs no check; the same data are read for one job alone."""
    read: set[str] = set()
    for job in jobs:
        if job.found is not None and job.found.is_finished():
            continue
        if job.found is not None and job.found.shown_status() is not Status.running:
            refuse_other_execution(
                job.found,
                job.frozen,
                way="going on with a sweep",
                otherwise="train anew with rerun=true",
            )
        recipe = job.request.config.recipe
        sizes = (recipe.model.context, recipe.model.vocab)
        data = repr((recipe.data, recipe.tokenizer, sizes, recipe.evaluation.pairs))
        run = Run(job.request.config)
        if data in read:
            run.check_parts(elsewhere=elsewhere)
        else:
            run.check(elsewhere=elsewhere)
            read.add(data)


def _freeze(job: Job) -> RunDirectory:
    try:
        return freeze_job(job.request, job=job.name, anew=job.request.config.running.rerun)
    except FileExistsError:
        path = home(job.request) / job.name
        if RunDirectory.is_one(path):  # another process has just made it
            return RunDirectory(path)
        raise Refusal(
            f"{path} exists already and is not a run; choose another name=, or remove it"
        ) from None
