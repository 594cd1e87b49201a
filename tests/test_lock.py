import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

import andrea_exp
from andrea_exp.component import Refusal
from andrea_exp.lock import exclusive, is_locked

ROOT = Path(andrea_exp.__file__).parents[1]
HOLD = """
import sys, time
from pathlib import Path
from andrea_exp.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
TRY = """
import sys
from pathlib import Path
from andrea_exp.component import Refusal
from andrea_exp.lock import exclusive, is_locked
print("locked" if is_locked(Path(sys.argv[1])) else "free")
try:
    with exclusive(Path(sys.argv[1])):
        print("taken")
except Refusal as error:
    print(error)
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


@pytest.fixture
def holder(tmp_path: Path) -> Generator[subprocess.Popen[str]]:
    process = start(HOLD, tmp_path / ".lock")
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_another_process_is_refused_and_told_who_holds_it(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    assert is_locked(tmp_path / ".lock")
    with (
        pytest.raises(Refusal, match=rf"is in use by process {holder.pid} on "),
        exclusive(tmp_path / ".lock"),
    ):
        pass


@pytest.mark.usefixtures("holder")
def test_looking_does_not_free_the_lock_of_the_other_process(tmp_path: Path) -> None:
    assert [is_locked(tmp_path / ".lock") for _ in range(3)] == [True] * 3


def test_a_killed_process_frees_it(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert not is_locked(tmp_path / ".lock")
    with exclusive(tmp_path / ".lock"):
        assert is_locked(tmp_path / ".lock")


def test_looking_from_the_holding_process_keeps_the_lock(tmp_path: Path) -> None:
    with exclusive(tmp_path / ".lock"):
        assert is_locked(tmp_path / ".lock")
        with pytest.raises(Refusal, match="by this very process"), exclusive(tmp_path / ".lock"):
            pass
        answer, _ = start(TRY, tmp_path / ".lock").communicate()
        assert answer.startswith("locked\n")
        assert f"in use by process {os.getpid()} on " in answer


def test_saboteur_opening_the_file_a_second_time_loses_the_lock(tmp_path: Path) -> None:
    with exclusive(tmp_path / ".lock"):
        (tmp_path / ".lock").read_text()  # what `is_locked` must not do in the holding process
        answer, _ = start(TRY, tmp_path / ".lock").communicate()
        assert answer == "free\ntaken\n"


def test_it_is_free_after_the_block_and_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), exclusive(tmp_path / ".lock"):
        raise KeyError
    assert not is_locked(tmp_path / ".lock")
    answer, _ = start(TRY, tmp_path / ".lock").communicate()
    assert answer == "free\ntaken\n"


def test_a_file_that_is_not_there_is_not_locked_and_not_made(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / ".lock")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="cannot be locked"), exclusive(tmp_path / "gone" / ".lock"):
        pass
