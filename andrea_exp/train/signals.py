"""A request to stop, made by a signal and looked at between two optimizer steps."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Final, Self, final

from andrea_exp.train.outcome import Ended

_ENDS = {
    signal.SIGINT: Ended.interrupted,
    signal.SIGTERM: Ended.preempted,
    signal.SIGUSR1: Ended.preempted,
    signal.SIGUSR2: Ended.preempted,
}
NUMBERS: Final = frozenset(_ENDS)
"""The signals that ask a training to stop."""


@final
class StopRequest:
    """While entered, signals set a flag; at the end, the handlers from before stand again.

    The first signal decides how the training ends. A second SIGINT is not patient: it raises
    KeyboardInterrupt at once. Outside the main thread, where Python allows no handlers, it does
    nothing.
    """

    def __init__(self) -> None:
        self._ended: Ended | None = None
        self._impatient = False
        self._interrupts = 0
        self._before = {number: signal.getsignal(number) for number in _ENDS}

    @property
    def ended(self) -> Ended | None:
        """How the training was asked to end; None if it was not."""
        return self._ended

    @property
    def impatient(self) -> bool:
        """Whether KeyboardInterrupt was raised."""
        return self._impatient

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _ENDS:
                signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if threading.current_thread() is threading.main_thread():
            for number, handler in self._before.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._ended is None:
            self._ended = _ENDS[signal.Signals(number)]
        self._interrupts += number == signal.SIGINT
        if self._interrupts > 1:
            self._impatient = True
            raise KeyboardInterrupt


def ignore_in_worker(worker: int) -> None:  # noqa: ARG001 - what torch calls it with
    """Make a loader's worker deaf to signals meant for the whole process group.

    A terminal and a scheduler signal every process of a group; a worker that died of it would
    take the training down before its next step boundary. Workers end when their parent does.
    """
    for number in _ENDS:
        signal.signal(number, signal.SIG_IGN)
