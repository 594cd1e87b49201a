"""Writing a file so that a reader sees the old content or the new one, and never a part."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from andrea_exp.disk import writing


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """A draft beside a file, to be written in the block; whole, it takes the file's place.

    That is one step, also across a loss of power. However the draft is written, the file gets the
    permissions that the user gives new files.

    Raises:
        DiskFull: there was no room; the file is as it was, and the draft is gone.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with writing(path):
            draft.touch()
            mode = draft.stat().st_mode
            yield draft
            if draft.stat().st_mode != mode:
                draft.chmod(mode)
            _sync(draft)
            draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of a file in one step.

    Raises:
        DiskFull: there was no room; the file is as it was.
    """
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


def remove_drafts(path: Path) -> None:
    """Remove what killed writers of a file left beside it; nobody may be writing it now."""
    for draft in path.parent.glob(f".{path.name}.*.new"):
        draft.unlink(missing_ok=True)


def write_durably(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Wait until the names inside a directory are on the disk."""
    _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
