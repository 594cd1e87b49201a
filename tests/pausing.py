"""Processes that wait at a chosen moment until a signal comes, and waiting for them."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

MARK = "paused"
"""The folder that a waiting process makes."""
_HOOK = """
import fnmatch, os, select, signal, sys

seen = 0


def pause(event, arguments):
    global seen
    if event == EVENT and fnmatch.fnmatch(str(arguments[0]), NAME):
        seen += 1
        mark = os.path.join(os.path.dirname(str(arguments[0])), UP, MARK)
        if seen == TURN and not os.path.exists(mark):
            told, tell = os.pipe()
            os.set_blocking(tell, False)
            signal.set_wakeup_fd(tell)
            os.mkdir(mark)
            select.select([told], [], [])
            signal.set_wakeup_fd(-1)


sys.addaudithook(pause)
"""


class Moment(NamedTuple):
    """An event of Python's audit hooks at which a process waits, once in a folder."""

    event: str
    name: str
    """Pattern of what is imported, or of the file that is opened."""
    turn: int
    """The how manyth such event it is, from 1."""
    up: str
    """Where the mark is made, relative to that file's folder."""


IMPORT_OF_TORCH = Moment(event="import", name="torch", turn=1, up="")
"""Marked in the current folder."""
SECOND_CHECKPOINT = Moment(event="open", name="*last.ckpt.new", turn=2, up="..")
"""Marked in the run directory."""


def pausing(folder: Path, *, at: Moment) -> Path:
    """A folder for the search path of processes that are to wait then for a signal."""
    constants = {**{key.upper(): value for key, value in at._asdict().items()}, "MARK": MARK}
    head = "".join(f"{name} = {value!r}\n" for name, value in constants.items())
    # Python imports a module of this name when it starts.
    (folder / "sitecustomize.py").write_text(head + _HOOK, encoding="utf-8")
    return folder


def wait_until(
    true: Callable[[], bool],
    *,
    process: "subprocess.Popen[str] | None" = None,
    patience_s: float = 200.0,
    every_s: float = 0.01,
) -> None:
    """Wait until something is true; the test fails if it takes too long, or the process ends."""
    end = time.monotonic() + patience_s
    while not true():
        if process is not None and process.poll() is not None:
            pytest.fail(f"the process ended with {process.returncode}: {process.communicate()}")
        assert time.monotonic() < end
        time.sleep(every_s)
