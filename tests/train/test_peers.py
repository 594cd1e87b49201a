"""How the first process starts the others, and what it hears when one ends before its time."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from andrea_exp.train.peers import PeerLostError, gathered
from andrea_exp.train.ranks import Ranks
from tests.train import toy


def program(code: str) -> list[str]:
    """A command that is no training; its arguments are the rank, the meeting place and the GPU."""
    return [sys.executable, "-c", f"import os, signal, sys, time\n{code}"]


def gather(code: str) -> Ranks:
    """What comes of a training of two whose other process runs this."""
    with gathered(program(code), runtime=toy.runtime(devices=2), gpus=[]) as ranks:
        return ranks


def test_one_process_starts_no_other() -> None:
    with gathered(["no-such-program"], runtime=toy.runtime(), gpus=[]) as ranks:
        assert (ranks.rank, ranks.count) == (0, 1)


def test_one_that_cannot_start_is_reported_with_what_it_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said = r"rank 1 of the training ended with 3: the last line of \['1', '-1'\]"
    with pytest.raises(PeerLostError, match=said):
        gather("print('the first'); print('the last line of', sys.argv[1::2]); sys.exit(3)")
    assert "rank 1 said:\nthe first\nthe last line" in caplog.text


def test_one_that_is_killed_is_reported_by_the_signal() -> None:
    with pytest.raises(PeerLostError, match=r"^rank 1 of the training was ended by SIGKILL$"):
        gather("os.kill(os.getpid(), signal.SIGKILL)")


def test_it_is_deaf_to_signals_that_ask_a_training_to_stop() -> None:
    code = """
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
    os.kill(os.getpid(), number)
print("still here")
sys.exit(4)
"""
    with pytest.raises(PeerLostError, match="ended with 4: still here"):
        gather(code)
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_it_ends_with_the_block_whatever_it_does(tmp_path: Path) -> None:
    note = tmp_path / "pid"

    def interrupt() -> None:
        while not note.exists() or not note.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        gather(f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)")
    thread.join()
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_it_imports_what_the_first_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "only_here.py").write_text("print('imported')\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PeerLostError, match="ended with 0: imported"):
        gather("import only_here")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(PeerLostError):
        gather("sys.exit(3)")
    assert list(tmp_path.iterdir()) == []
