"""The user's cache folder: things that are made once from their ingredients, then only read.

An entry is a folder whose name is the hash of all that went into it. It is made in a hidden folder
beside its place and renamed when it is complete and on the disk, so what stands there is whole. Of
several processes that want the same one, the first makes it and the others wait. Nothing is ever
removed but the remains of makers that were killed, and entries that were damaged afterwards; the
whole folder may be deleted at any time.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import platformdirs
from rich.console import Console

from andrea_exp import disk
from andrea_exp.atomic import sync_directory
from andrea_exp.component import Refusal
from andrea_exp.lock import Busy, exclusive

VARIABLE: Final = "ANDREA_EXP_CACHE"
"""Environment variable that names another cache folder."""

_POLL_S = 0.1
_DRAFT = ".partial"


def cache_folder() -> Path:
    """Where entries are kept: `VARIABLE`, or else the folder that the system has for caches."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    return platformdirs.user_cache_path("andrea_exp", appauthor=False)


def key_of(*parts: str) -> str:
    """Hash of some texts in order, as the name of an entry."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


def kept(
    kind: str,
    key: str,
    make: Callable[[Path], None],
    *,
    whole: Callable[[Path], bool] = Path.is_dir,
) -> Path:
    """The entry with this key.

    Args:
        kind: the folder inside the cache folder for entries of one kind.
        key: hash of everything that decides the content.
        make: fills a folder with the content, each file synced; called only if there is no entry.
        whole: whether an entry can be used; one that cannot is made anew.

    Raises:
        Refusal: the cache folder cannot be written, or `make` refuses.
        DiskFull: there is no room for the entry, of which nothing is left.
    """
    folder = cache_folder() / kind
    entry = folder / key
    if whole(entry):
        return entry
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _clear(folder)
        with _turn(folder, key):
            if not whole(entry):
                shutil.rmtree(entry, ignore_errors=True)
                _make(entry, draft=folder / f".{key}{_DRAFT}", make=make)
    return entry


def _make(entry: Path, *, draft: Path, make: Callable[[Path], None]) -> None:
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        make(draft)
        sync_directory(draft)
        draft.rename(entry)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_directory(entry.parent)


@contextmanager
def _turn(folder: Path, key: str) -> Generator[None]:
    """Hold the lock of an entry; wait while another process makes it."""
    with ExitStack() as stack:
        told = False
        while True:
            try:
                stack.enter_context(exclusive(_lock(folder, key)))
                break
            except Busy:
                if not told:
                    Console(stderr=True).print(f"waiting for {folder / key}, which is being made")
                    told = True
                time.sleep(_POLL_S)
        yield


def _clear(folder: Path) -> None:
    """Remove what killed makers left."""
    for draft in folder.glob(f".*{_DRAFT}"):
        key = draft.name.removeprefix(".").removesuffix(_DRAFT)
        with suppress(Busy), exclusive(_lock(folder, key)):
            shutil.rmtree(draft, ignore_errors=True)


def _lock(folder: Path, key: str) -> Path:
    # It stays when the entry is made: removing it would let two processes hold locks of one name.
    return folder / f".{key}.lock"


@contextmanager
def _writing(folder: Path) -> Generator[None]:
    """Say what to do where the cache folder cannot be written; other faults are refusals by now."""
    try:
        with disk.writing(folder, otherwise=f"name another folder with {VARIABLE}"):
            yield
    except OSError as error:
        raise Refusal(
            f"the cache folder {folder} cannot be written: {error.strerror}; "
            f"name another one with the environment variable {VARIABLE}"
        ) from error
