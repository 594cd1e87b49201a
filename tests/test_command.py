"""How a command ends."""

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from andrea_exp.command import DONE, Preempted, finish, stoppable
from andrea_exp.component import Refusal
from andrea_exp.disk import DiskFull

Said = pytest.CaptureFixture[str]
HELP = f"exec {sys.executable} -m andrea_exp --help"
SHOW_STREAMS = """
import os, sys
from andrea_exp.command import finish

def show():
    with open("file", "w") as file:
        print("to nobody")
        print("to nobody", file=sys.stderr)
        os.write(1, b"to nobody")
        os.write(2, b"to nobody")
        file.write(f"{file.fileno() > 2} {sys.stdin.read()!r} {sys.stderr.isatty()}")
    return 0

sys.exit(finish(show))
"""


def raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("end", "status", "message"),
    [
        (Refusal("no such key"), 2, "no such key"),
        (DiskFull("no room"), 1, "no room"),
        (Preempted(), 75, "preempted"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_early_end_is_one_line_and_a_status(
    end: BaseException, status: int, message: str, capsys: Said
) -> None:
    assert finish(raising(end)) == status
    assert capsys.readouterr().err == f"andrea_exp: {message}\n"


def test_an_error_of_the_program_keeps_its_traceback() -> None:
    with pytest.raises(OSError, match="network"):
        finish(raising(OSError("network")))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
def test_a_schedulers_signal_preempts_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)

    def command() -> int:
        signal.raise_signal(number)
        return 0

    assert finish(command) == 75
    assert signal.getsignal(number) is before


@pytest.mark.parametrize(
    ("signals", "status", "imported"),
    [
        ([signal.SIGTERM], 75, True),
        ([signal.SIGTERM, signal.SIGUSR1], 75, True),
        ([signal.SIGINT], 130, True),
        ([signal.SIGINT, signal.SIGINT], 130, False),
    ],
)
def test_a_signal_in_the_middle_of_an_import_waits_for_its_end_once(
    signals: list[signal.Signals],
    status: int,
    imported: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["import signal", *(f"signal.raise_signal({int(number)})" for number in signals)]
    (tmp_path / "signalled.py").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    whole: list[ModuleType] = []

    def command() -> int:
        whole.append(importlib.import_module("signalled"))
        time.sleep(60)
        return 0

    assert finish(command) == status
    assert bool(whole) is imported
    sys.modules.pop("signalled", None)


def test_a_block_in_a_block_leaves_the_handlers_to_the_outer_one() -> None:
    with stoppable():
        outer = signal.getsignal(signal.SIGTERM)
        with stoppable():
            assert signal.getsignal(signal.SIGTERM) == outer
        assert signal.getsignal(signal.SIGTERM) == outer


def test_a_second_signal_does_not_disturb_the_answer_to_the_first() -> None:
    told: list[str] = []
    with stoppable():
        try:
            signal.raise_signal(signal.SIGTERM)
        except Preempted:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGUSR1)
            told.append("answered")
    assert told == ["answered"]


def test_a_reader_that_leaves_early_ends_a_command_in_silence() -> None:
    command = [sys.executable, "-m", "andrea_exp", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_on_a_full_disk_is_one_line_and_a_failure() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{HELP} > /dev/full"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    said = "andrea_exp: what it prints cannot be written: No space left on device\n"
    assert done.stderr == said


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere_and_never_into_a_file(tmp_path: Path, closed: str) -> None:
    (tmp_path / "program.py").write_text(SHOW_STREAMS, encoding="utf-8")
    done = subprocess.run(
        ["sh", "-c", f"exec {sys.executable} program.py {closed}"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == "True '' False"


def test_a_reader_who_leaves_a_rich_console_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as nobody:
        monkeypatch.setattr(sys, "stdout", nobody)

        def command() -> int:
            Console().print("a word")
            return 5

        assert finish(command) == DONE
