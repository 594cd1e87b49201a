"""A line on the terminal with loss, speed and time left."""

import time
from types import TracebackType
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_EVERY_S = 0.2


@final
class ProgressLine:
    """Drawn on standard error while entered; silent where that is no terminal.

    It draws between steps and has no thread of its own, since loaders fork the process.
    """

    def __init__(self, *, total: int, shown: bool) -> None:
        console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeRemainingColumn(),
            TextColumn("left"),
            console=console,
            auto_refresh=False,
            disable=not (shown and console.is_terminal),
        )
        self._task = self._progress.add_task("", total=total)
        self._drawn = 0.0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.refresh()
        self._progress.stop()

    def show(self, *, step: int, loss_nats: float, tokens_per_s: float | None) -> None:
        """Move to `step`; drawn at most a few times a second."""
        if self._progress.disable:
            return
        now = time.monotonic()
        due = now - self._drawn > _EVERY_S
        if due:
            self._drawn = now
        speed = "" if tokens_per_s is None else f"  {tokens_per_s:,.0f} tokens/s"
        self._progress.update(
            self._task,
            completed=step,
            description=f"loss {loss_nats:.3f} nats{speed}",
            refresh=due,
        )
