"""`run.log`: what every library says during a run, with the traceback of a failure."""

import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from copy import copy
from pathlib import Path
from typing import final

from typing_extensions import override

from andrea_exp.record.redact import redact


@final
class _Redacting(logging.Formatter):
    """Keeps the home directory and secrets out of the log, tracebacks included."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


@final
class _OneLine(logging.Formatter):
    """Leaves tracebacks to the file."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        plain = copy(record)  # the record itself goes on to the other handlers
        plain.exc_info = plain.exc_text = plain.stack_info = None
        return super().format(plain)


@final
class _LogFile(logging.FileHandler):
    """A log that cannot be written, on a full disk say, is lost with one line and stops nothing.

    It is not the record of the run: where that cannot be written, the run stops.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        self._lost = False

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        error = sys.exception()
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._lost:
            self._lost = True
            sys.stderr.write(f"WARNING: {self.baseFilename} lacks lines: {error.strerror}\n")

    @override
    def close(self) -> None:
        with suppress(OSError):  # of lines that are left over; they have been told of
            super().close()


@contextmanager
def logging_to(path: Path) -> Generator[None]:
    """Collect what all libraries log in the run's file, warnings also on the terminal."""
    root = logging.getLogger()
    file = _LogFile(path)
    terminal = logging.StreamHandler()
    terminal.setLevel(logging.WARNING)
    terminal.setFormatter(_OneLine("%(levelname)s: %(message)s"))
    level = root.level
    root.setLevel(logging.INFO)
    for handler in (file, terminal):
        root.addHandler(handler)
    try:
        yield
    finally:
        for handler in (file, terminal):
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
