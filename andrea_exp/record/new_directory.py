"""Making a directory that is there at once, with everything in it, or not at all."""

import os
import secrets
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from andrea_exp.atomic import sync_directory, write_durably
from andrea_exp.component import Refusal
from andrea_exp.disk import writing

_DRAFT = ".new-"
_ABANDONED_S = 3600.0
"""Age of a draft that nobody works on any more; it takes moments to make one."""


def make_whole(parent: Path, job: str, *, files: Mapping[str, str], unique: bool) -> Path:
    """Make `parent/job` with these files, at once and on the disk.

    What killed processes had half made in the folder an hour ago or more is removed.

    Args:
        parent: is made if need be.
        job: name of the directory.
        files: name -> content.
        unique: if the name is taken, take `job-2`, `job-3` ... instead, each for one caller alone,
            however many ask at once.

    Raises:
        FileExistsError: the name is taken, by whatever it may be.
        Refusal: the folder cannot be written.
    """
    draft = parent / f"{_DRAFT}{secrets.token_hex(8)}"
    try:
        with _writing_in(parent):
            parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            _remove_abandoned(parent, now=draft.stat().st_mtime)
            for name, text in files.items():
                write_durably(draft / name, text)
            sync_directory(draft)
        with _claimed(parent, job, unique=unique) as path, _writing_in(parent):
            draft.rename(path)  # replaces the empty directory that only we can have made
        sync_directory(parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    return path


def _remove_abandoned(parent: Path, *, now: float) -> None:
    """Remove the drafts in a folder that are too old for their maker to be alive.

    A maker that was suspended for so long finds its draft gone and says so; nothing is lost.

    Args:
        parent: the folder.
        now: the time by the clock of its disk, in seconds, which may not be that of this machine.
    """
    for draft in parent.glob(f"{_DRAFT}*"):
        with suppress(OSError):  # another process has removed it, or gave it its name
            if now - draft.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _claimed(parent: Path, job: str, *, unique: bool) -> Generator[Path]:
    """An empty directory of a free name, taken back if the block fails."""
    path = _claim(parent, job, unique=unique)
    try:
        yield path
    except BaseException:
        path.rmdir()
        raise


def _claim(parent: Path, job: str, *, unique: bool) -> Path:
    """Make an empty directory of a free name: `mkdir` gives each name to one caller alone."""
    number = 1
    while True:
        path = parent / (job if number == 1 else f"{job}-{number}")
        try:
            with _writing_in(parent):
                path.mkdir()
            return path
        except FileExistsError:
            if not unique:
                raise
        number += 1


@contextmanager
def _writing_in(parent: Path) -> Generator[None]:
    """Turn errors of the file system into one sentence; a name that is taken passes through."""
    try:
        with writing(parent, otherwise="choose another place with outputs=FOLDER"):
            yield
    except OSError as error:
        if isinstance(error, FileExistsError) and parent.is_dir():
            raise
        raise Refusal(_why_unwritable(parent, error)) from error


def _why_unwritable(parent: Path, error: OSError) -> str:
    blocking = next((path for path in (parent, *parent.parents) if os.path.lexists(path)), parent)
    is_folder = blocking.is_dir()
    reason = error.strerror if is_folder else f"{blocking} is not a folder"
    return f"cannot write to {parent}: {reason}; choose another place with outputs=FOLDER"
