"""A line on the terminal with how much of a text has been read, and the time left."""

import time
from types import TracebackType
from typing import final

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import Progress as Bar

_EVERY_S = 0.2
_QUICK_S = 1.0


@final
class Progress:
    """Drawn on standard error while entered, from the second second on; silent off a terminal.

    It has no thread of its own, since loaders fork the process.
    """

    def __init__(self, what: str, *, total: int | None) -> None:
        """What is done, and how many bytes there are; None if nobody knows."""
        console = Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            auto_refresh=False,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(what, total=total)
        self._done = 0
        self._due = 0.0
        self._started = False

    def __enter__(self) -> "Progress":
        self._due = time.monotonic() + _QUICK_S
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._started:
            self._bar.update(self._task, completed=self._done)
            self._bar.refresh()
            self._bar.stop()

    def advance(self, num_bytes: int) -> None:
        """So many more are done; drawn at most a few times a second."""
        self._done += num_bytes
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + _EVERY_S
        if not self._started:
            self._bar.start()
            self._started = True
        self._bar.update(self._task, completed=self._done)
        self._bar.refresh()
