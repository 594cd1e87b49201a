"""The further processes of a training: started by the first one, watched, and ended with it."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, final

from andrea_exp.train.config import RuntimeConfig
from andrea_exp.train.ranks import NoAnswerError, Ranks, hang_up, joined
from andrea_exp.train.signals import NUMBERS

_LOG = logging.getLogger(__name__)
_POLL_S: Final = 0.02
_GOODBYE_S: Final = 60.0
"""How long a process may take to end once its training has."""

LEFT: Final = 76
"""Exit status of a process that ends because another one has."""


class PeerLostError(RuntimeError):
    """Another process of the training has ended before its time."""


@contextmanager
def gathered(
    command: Sequence[str], *, runtime: RuntimeConfig, gpus: Sequence[int]
) -> Generator[Ranks]:
    """The processes of a training, this one the first; the others live as long as the block.

    Args:
        command: with three more words, the rank, the folder where they meet and the rank's GPU, or
            -1, it starts a program that calls `met` once it can train.
        runtime: how many there are to be, and on what.
        gpus: index of each process's GPU; empty on the CPU.

    Raises:
        PeerLostError: one of them has ended; the message has the last line of what it said, and
            the log has all of it.
    """
    if runtime.devices == 1:
        yield Ranks.alone()
        return
    with (
        TemporaryDirectory(prefix="andrea_exp-", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        meeting = Path(folder)
        peers: list[_Peer] = []
        for rank in range(1, runtime.devices):
            peer = _Peer(command, rank=rank, meeting=meeting, gpu=gpus[rank] if gpus else -1)
            stack.callback(peer.end)
            peers.append(peer)
        while not all(_sign(meeting, peer.rank).exists() for peer in peers):
            _raise_for_lost(peers)
            time.sleep(_POLL_S)
        try:
            with joined(meeting, rank=0, count=runtime.devices, device=runtime.device) as ranks:
                for peer in peers:
                    peer.watch()
                yield ranks
                for peer in peers:
                    peer.see_off()
        except NoAnswerError:
            _raise_for_lost(peers, within_s=_GOODBYE_S)
            raise


@contextmanager
def met(meeting: Path, *, rank: int, runtime: RuntimeConfig) -> Generator[Ranks]:
    """The same processes, as one of the others sees them.

    Raises:
        NoAnswerError: one of them has ended.
    """
    _sign(meeting, rank).touch()
    with joined(meeting, rank=rank, count=runtime.devices, device=runtime.device) as ranks:
        yield ranks


def _sign(meeting: Path, rank: int) -> Path:
    """The file by which a process says that it is ready."""
    return meeting / f"ready-{rank}"


@final
class _Peer:
    """One of the other processes."""

    def __init__(self, command: Sequence[str], *, rank: int, meeting: Path, gpu: int) -> None:
        self.rank = rank
        self._said = meeting / f"said-{rank}"
        self._expected = False
        # As `multiprocessing` does: what this process can import, the other one can, too.
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        with self._said.open("wb") as said, _without_signals():
            self._process = subprocess.Popen(
                [*command, str(rank), str(meeting), str(gpu)],
                env={**os.environ, "PYTHONPATH": path},
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
            )

    def watch(self) -> None:
        """From now on, let this process not wait for one that has ended."""

        def wait() -> None:
            self._process.wait()
            if not self._expected:
                hang_up()

        threading.Thread(target=wait, daemon=True).start()

    def see_off(self) -> None:
        """Wait until it has ended as it should."""
        self._expected = True
        try:
            code = self._process.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            _LOG.warning("rank %d trained to the end and then did not; it is killed", self.rank)
            return
        if code:
            raise self.lost(code)

    def code(self, *, within_s: float) -> int | None:
        """Its exit status if it ends within a time."""
        try:
            return self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            return None

    def lost(self, code: int) -> PeerLostError:
        """The error that says how it ended; what it said goes to the log."""
        said = self._said.read_text(encoding="utf-8", errors="replace").strip()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        if not said:
            return PeerLostError(f"rank {self.rank} of the training {how}")
        _LOG.error("rank %d said:\n%s", self.rank, said)
        return PeerLostError(f"rank {self.rank} of the training {how}: {said.splitlines()[-1]}")

    def end(self) -> None:
        """End it now, whatever it does; it has nothing to lose."""
        self._expected = True
        self._process.kill()
        self._process.communicate()


def _raise_for_lost(peers: Sequence[_Peer], *, within_s: float = 0.0) -> None:
    """Raise for a process that has ended, or does within a time, and not because of another."""
    end = time.monotonic() + within_s
    while True:
        codes = [peer.code(within_s=_POLL_S) for peer in peers]
        for peer, code in zip(peers, codes, strict=True):
            if code not in (None, LEFT):
                raise peer.lost(code)
        if None not in codes or time.monotonic() >= end:
            return


@contextmanager
def _without_signals() -> Generator[None]:
    """What starts here gets no signal that asks a training to stop: the first process decides.

    A terminal and a scheduler signal every process of a group. Blocked signals, unlike ignored
    ones, are not lost on this process, which gets them at the end of the block.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
