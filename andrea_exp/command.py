"""How a command ends: one message, and a status that says whose turn it is."""

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import final

from andrea_exp.component import Refusal
from andrea_exp.disk import DiskFull

DONE, FAILED, REFUSED, PREEMPTED, INTERRUPTED = 0, 1, 2, 75, 130
_OF_STREAMS = {errno.EPIPE, errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_SCHEDULER = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_LOOK_AGAIN_S = 0.05


class Preempted(BaseException):
    """A scheduler asked this process to leave."""


@contextmanager
def stoppable() -> Generator[None]:
    """In the block, SIGINT raises KeyboardInterrupt, and a scheduler's signal `Preempted`.

    A scheduler's further signals do nothing. A signal in the middle of an import waits for its end:
    few modules can be left half imported, for some turn any exception into another, or go on
    without a part of themselves. A second SIGINT does not wait.

    Inside another such block, and outside the main thread, where Python allows no handlers, nothing
    changes.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    outer = getattr(signal.getsignal(signal.SIGTERM), "__self__", None)
    if not in_main_thread or isinstance(outer, _Answer):
        yield
        return
    answer = _Answer()
    before = {number: signal.signal(number, answer.give) for number in (signal.SIGINT, *_SCHEDULER)}
    before |= {signal.SIGALRM: signal.signal(signal.SIGALRM, answer.give_after_import)}
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@final
class _Answer:
    """What is done at a signal."""

    def __init__(self) -> None:
        self._waits: int | None = None
        self._preempted = False

    def give(self, number: int, frame: FrameType | None) -> None:
        """Raise, or wait for the end of an import."""
        impatient = number == self._waits == signal.SIGINT
        if _is_importing(frame) and not impatient:
            self._waits = number
            signal.setitimer(signal.ITIMER_REAL, _LOOK_AGAIN_S)
            return
        self._waits = None
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if not self._preempted:
            self._preempted = True
            raise Preempted

    def give_after_import(self, _number: int, frame: FrameType | None) -> None:
        """At the alarm that looks whether the import has ended."""
        if self._waits is not None:
            number, self._waits = self._waits, None
            self.give(number, frame)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether an import is in progress at this place of the program."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def let_waiting_threads_sleep() -> None:
    """Before torch is imported: its threads sleep while they wait, and do not spin.

    On a machine that also does other work, spinning threads take the cores that the others wait
    for; a training step took three times as long there. A value that the user has set is kept.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def finish(command: Callable[[], int]) -> int:
    """The exit status of a command; to be entered before anything that takes its time."""
    _open_standard_streams()
    try:
        with stoppable():
            status = _unlike_rich(command)
            sys.stdout.flush()
            return status
    except Refusal as refusal:
        return _said(str(refusal), REFUSED)
    except DiskFull as full:
        return _said(str(full), FAILED)
    except (Preempted, KeyboardInterrupt) as stop:
        preempted = isinstance(stop, Preempted)
        return _said(*(("preempted", PREEMPTED) if preempted else ("interrupted", INTERRUPTED)))
    except OSError as error:
        if error.errno not in _OF_STREAMS or error.filename is not None:
            raise
        _lead_output_nowhere()
        if isinstance(error, BrokenPipeError):  # whoever read it has left
            return DONE
        return _said(f"what it prints cannot be written: {error.strerror}", FAILED)


def _unlike_rich(command: Callable[[], int]) -> int:
    """The command; rich would exit with 1 where a reader has left."""
    try:
        return command()
    except SystemExit as leave:
        if isinstance(leave.__context__, BrokenPipeError):
            raise leave.__context__ from None
        raise


def _said(message: str, status: int) -> int:
    print(f"andrea_exp: {message}", file=sys.stderr)
    return status


def _lead_output_nowhere() -> None:
    """Or Python would try again to write what is left, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_standard_streams() -> None:
    """Lead closed ones nowhere, or the files opened next would get what libraries print."""
    for number, (name, mode) in enumerate({"stdin": "r", "stdout": "w", "stderr": "w"}.items()):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, mode, closefd=False))
