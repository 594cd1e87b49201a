"""A disk that is full: how that is noticed, and what a person is told."""

import errno
import os
import re
import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

_REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room in your quota",
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f)",
}
_RUST = re.compile(r"\(os error (\d+)\)")


class DiskFull(Exception):  # noqa: N818 - not a fault of the program, so no "Error"
    """There is no room for a file. The text says which, how much is free, and what to do."""


@contextmanager
def writing(path: Path, *, otherwise: str = "") -> Generator[None]:
    """Turn the error of a full disk, a used-up quota or a limit into one that says what to do.

    Args:
        path: what is written; a file, or the folder that it is in.
        otherwise: what a user can do instead of making room.

    Raises:
        DiskFull: there was no room. Other errors pass as they are.
    """
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        number = next(_full(error), None)
        if number is None:
            raise
        remedy = " or ".join(filter(None, (_REMEDIES[number], otherwise)))
        raise DiskFull(
            f"no room to write {path}: {os.strerror(number)}, {_free(path)}; {remedy}"
        ) from error


def _full(error: BaseException | None) -> Iterator[int]:
    """The numbers of full disks behind an error: libraries wrap them in errors of their own."""
    while error is not None:
        told = _RUST.search(str(error))
        number = error.errno if isinstance(error, OSError) else told and int(told[1])
        if number in _REMEDIES:
            yield number
        error = error.__cause__ or error.__context__


def _free(path: Path) -> str:
    place = next((each for each in (path, *path.absolute().parents) if each.exists()), Path("/"))
    return f"{shutil.disk_usage(place).free / 1e6:.1f} MB free"
