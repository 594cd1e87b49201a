"""Writing a file so that a reader sees the old content or the new one, and never a part."""

import os
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace the content of a file in one step, also across a loss of power."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        write_durably(draft, text)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def write_durably(path: Path, text: str) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Wait until the names inside a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
