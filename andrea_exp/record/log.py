"""`run.log`: what every library says during a run, with the traceback of a failure."""

import logging
from collections.abc import Generator
from contextlib import contextmanager
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


@contextmanager
def logging_to(path: Path) -> Generator[None]:
    """Collect what all libraries log in the run's file, warnings also on the terminal."""
    root = logging.getLogger()
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
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
