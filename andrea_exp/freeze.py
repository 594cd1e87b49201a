"""Freeze: a request, checked to the end, becomes a run directory that waits to be executed."""

import os
import sys
from datetime import datetime
from pathlib import Path

from andrea_exp.assemble import Run
from andrea_exp.component import Refusal
from andrea_exp.config.frozen import freeze
from andrea_exp.config.request import Request
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Manifest
from andrea_exp.record.reader import newest_unfinished


def home(request: Request) -> Path:
    """The folder that gathers the runs of this request's name; `~` is the home directory."""
    running = request.config.running
    # `Path.expanduser` raises for a user that does not exist.
    return Path(os.path.expanduser(running.outputs), running.name)  # noqa: PTH111


def freeze_single(request: Request) -> RunDirectory:
    """A single run's directory, whose name starts with its time.

    Raises:
        Refusal: the run could not be executed here; nothing has been written.
    """
    Run(request.config).check()
    frozen = freeze(request)
    job = f"{datetime.now():%Y-%m-%d_%H-%M-%S}_{frozen.recipe_hash[:6]}"
    files = _files(request, frozen)
    return RunDirectory.create(home(request), job, files=files, unique=True)


def resumable(request: Request) -> RunDirectory:
    """The newest unfinished run of this name and recipe.

    Raises:
        Refusal: there is none, or it was frozen to be executed in another way.
    """
    asked = freeze(request)
    found = newest_unfinished(home(request), asked.recipe_hash)
    if found is None:
        raise Refusal(
            f"resume=true: {home(request)} has no unfinished run of this recipe "
            f"({asked.recipe_hash}); give the same choices as that run had, or leave out "
            "resume=true"
        )
    refuse_other_execution(found, asked, way="resume=true", otherwise="leave out resume=true")
    return found


def refuse_other_execution(
    found: RunDirectory, asked: FrozenConfig, *, way: str, otherwise: str
) -> None:
    """A directory is executed as it was frozen, so words that ask for another way are refused.

    Args:
        found: what would be executed.
        asked: what is asked for.
        way: how the directory was asked for, for the message.
        otherwise: what else a user can do.

    Raises:
        Refusal: they do.
    """
    frozen = found.config()
    for group in ("runtime", "logger"):
        for key, value in asked.config[group].items():
            before = frozen.config[group].get(key)
            if value != before:
                raise Refusal(
                    f"{way}: {found.path} was frozen with {group}.{key}={before}, not {value}; "
                    f"give the same again, or {otherwise}"
                )


def freeze_job(request: Request, *, job: str, anew: bool) -> RunDirectory:
    """The directory of one job of a sweep, already checked.

    Args:
        request: the job.
        job: name of the directory.
        anew: if that is taken, take one beside it.

    Raises:
        FileExistsError: it is there already.
    """
    files = _files(request, freeze(request))
    return RunDirectory.create(home(request), job, files=files, unique=anew)


def _files(request: Request, frozen: FrozenConfig) -> dict[str, str]:
    manifest = Manifest.pending(
        seed=request.config.recipe.seed,
        argv=["python", "-m", "andrea_exp", *sys.argv[1:]],
        overrides=list(request.composed.overrides),
        choices=frozen.choices,
    )
    return {"config.yaml": frozen.text(), "manifest.json": manifest.text()}
