"""The lock of a directory: one process at a time, freed by the system when that process ends.

POSIX record locks (`lockf`), which also hold across the machines of a cluster's shared disk. They
have two properties that decide how this file is written: a lock belongs to the whole process, and
it is lost as soon as the process closes *any* descriptor of the file. So what this process holds
is noted here, process-wide as the lock itself is, and such a file is never opened a second time.
"""

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from andrea_exp.component import Refusal
from andrea_exp.disk import writing


class Busy(Refusal):
    """Somebody else holds the lock."""

    def __init__(self, message: str, *, holder: str) -> None:
        super().__init__(message)
        self.holder = holder


_held: dict[tuple[int, int], int] = {}  # (device, inode) of a lock file -> process that holds it


@contextmanager
def exclusive(path: Path) -> Generator[None]:
    """Hold the lock of a file, which is created if need be and names its holder meanwhile.

    A forked child does not inherit the lock, and does not keep it alive after its parent.

    Raises:
        Busy: it is held already, by another process or this one.
        Refusal: it cannot be taken here.
        DiskFull: there is no room for the file.
    """
    if _held_here(path):
        holder = f"this very process ({os.getpid()})"
        raise Busy(f"{path.parent} is in use by {holder}", holder=holder)
    try:
        with writing(path):
            file = path.open("a+b", buffering=0)
    except OSError as error:
        raise Refusal(f"{path.parent} cannot be locked: {error.strerror}") from error
    key = None
    try:
        with file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except (BlockingIOError, PermissionError) as error:
                file.seek(0)
                holder = file.read().decode(errors="replace").strip() or "another process"
                raise Busy(
                    f"{path.parent} is in use by {holder}; wait until it ends, or end it",
                    holder=holder,
                ) from error
            status = os.fstat(file.fileno())
            key = (status.st_dev, status.st_ino)
            _held[key] = os.getpid()
            with suppress(OSError):  # on a full disk the lock holds without a name
                file.truncate(0)
                file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            try:
                yield
            finally:
                file.truncate(0)
    finally:
        if key is not None:
            del _held[key]


def is_locked(path: Path) -> bool:
    """Whether some process holds the lock of a file. Looks without taking it, so nobody notices."""
    if _held_here(path):
        return True
    try:
        with path.open("rb") as file:
            return _lock_in_the_way(file.fileno())[0] != fcntl.F_UNLCK
    except FileNotFoundError:
        return False


def _held_here(path: Path) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return _held.get((status.st_dev, status.st_ino)) == os.getpid()


def holder(path: Path) -> int | None:
    """The other process that holds the lock of a file, if it is on this machine; looks only."""
    try:
        with path.open("rb") as file:
            kind, process = _lock_in_the_way(file.fileno())
    except FileNotFoundError:
        return None
    return process if kind != fcntl.F_UNLCK and process > 0 else None


def _lock_in_the_way(descriptor: int) -> tuple[int, int]:
    """Kind and process of what would refuse an exclusive lock: fcntl(2), F_GETLK."""
    if sys.platform == "darwin":  # struct flock: start, length, pid, type, whence
        layout, kind, process, question = "qqihh", 3, 2, (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET)
    else:  # Linux: type, whence, start, length, pid
        layout, kind, process, question = "hhqqi", 0, 4, (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    answer = struct.unpack(
        layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *question))
    )
    return int(answer[kind]), int(answer[process])
