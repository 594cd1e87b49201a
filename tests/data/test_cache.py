"""The user's cache folder."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import andrea_exp
from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE, cache_folder, kept, key_of
from andrea_exp.disk import DiskFull

ROOT = Path(andrea_exp.__file__).parents[1]
MAKER = """
import sys, time
from pathlib import Path
from andrea_exp.data.cache import kept
def make(draft):
    (draft / "half").write_text("the first half")
    print("in the middle", flush=True)
    sys.stdin.readline()
    (draft / "whole").write_text("all of it")
entry = kept("things", "key", make)
print((entry / "whole").read_text(), flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "things"


Maker = Callable[[], subprocess.Popen[str]]


@pytest.fixture
def maker() -> Generator[Maker]:
    """Starts processes that make one entry, each in the middle until it is told to go on."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", MAKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def write(text: str) -> Callable[[Path], None]:
    def make(draft: Path) -> None:
        (draft / "whole").write_text(text)

    return make


def never(draft: Path) -> None:
    pytest.fail(f"{draft} is made a second time")


def visible(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not path.name.startswith(".")]


def remains(folder: Path) -> list[Path]:
    return list(folder.glob("*.partial"))


def test_an_entry_is_made_once(folder: Path):
    first = kept("things", "key", write("all of it"))
    assert first == kept("things", "key", never) == folder / "key"
    assert (first / "whole").read_text() == "all of it"
    assert visible(folder) == ["key"]


def test_other_keys_and_kinds_are_other_entries():
    first = kept("things", "key", write("one"))
    other = kept("things", "other", write("two"))
    third = kept("animals", "key", write("three"))
    assert [(each / "whole").read_text() for each in (first, other, third)] == [
        "one",
        "two",
        "three",
    ]


def test_a_maker_that_refuses_leaves_nothing(folder: Path):
    def make(draft: Path) -> None:
        (draft / "half").write_text("the first half")
        raise Refusal("no such text")

    with pytest.raises(Refusal, match="no such text"):
        kept("things", "key", make)
    assert visible(folder) == remains(folder) == []


def test_an_entry_that_cannot_be_used_is_made_anew(folder: Path):
    def whole(entry: Path) -> bool:
        return (entry / "whole").exists()

    entry = kept("things", "key", write("all of it"), whole=whole)
    (entry / "whole").rename(entry / "half")
    assert kept("things", "key", never) == entry
    assert kept("things", "key", write("again"), whole=whole) == entry
    assert [path.name for path in entry.iterdir()] == ["whole"]
    assert kept("things", "key", never, whole=whole) == entry
    assert visible(folder) == ["key"]


def test_a_killed_maker_leaves_no_entry_and_the_next_run_clears_up(folder: Path, maker: Maker):
    process = maker()
    assert line(process) == "in the middle"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert visible(folder) == []
    assert len(remains(folder)) == 1
    kept("things", "other", write("another"))
    assert remains(folder) == []
    assert (kept("things", "key", write("all of it")) / "whole").read_text() == "all of it"
    assert not (folder / "key" / "half").exists()


def test_what_stands_there_without_a_rename_would_be_caught(folder: Path):
    """A maker that works in place leaves half an entry, which the next run takes for a whole."""
    (folder / "key").mkdir(parents=True)
    (folder / "key" / "half").write_text("the first half")
    with pytest.raises(FileNotFoundError):
        (kept("things", "key", never) / "whole").read_text()


def test_two_processes_that_want_one_entry_make_it_once(folder: Path, maker: Maker):
    first = maker()
    assert line(first) == "in the middle"
    second = maker()
    assert second.stderr is not None
    assert "waiting for" in second.stderr.readline()
    assert remains(folder) == [folder / ".key.partial"]  # the second has not cleared it
    assert first.communicate("\n")[0] == "all of it\n"
    assert second.communicate()[0] == "all of it\n"  # it was never in the middle


def test_one_that_waits_makes_the_entry_itself_if_the_first_is_killed(maker: Maker):
    first = maker()
    assert line(first) == "in the middle"
    second = maker()
    time.sleep(0.1)
    first.kill()
    first.communicate()
    assert second.communicate("\n")[0] == "in the middle\nall of it\n"


def test_a_folder_that_cannot_be_written_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.raises(Refusal, match=rf"{tmp_path}/file/things cannot be written: .* {VARIABLE}"):
        kept("things", "key", never)


def test_a_full_disk_is_told_as_such(folder: Path):
    def make(draft: Path) -> None:
        (draft / "half").symlink_to("/dev/full")
        (draft / "half").write_text("x")

    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with pytest.raises(DiskFull, match=f"{folder}: No space left .* or name another folder"):
        kept("things", "key", make)
    assert visible(folder) == remains(folder) == []


def test_a_whole_entry_is_read_where_nothing_can_be_written(folder: Path):
    entry = kept("things", "key", write("all of it"))
    for path in folder.glob(".*"):
        path.unlink()
    folder.chmod(0o500)
    assert kept("things", "key", never) == entry
    folder.chmod(0o700)
    assert visible(folder) == ["key"]


def test_without_the_variable_it_is_the_system_s_folder_for_caches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().name == "andrea_exp"
    assert cache_folder().is_relative_to(tmp_path)
    monkeypatch.setenv(VARIABLE, "~/mine")
    assert cache_folder() == tmp_path / "mine"


def test_a_key_tells_its_parts_apart():
    assert key_of("a", "b") == key_of("a", "b")
    assert len({key_of("a", "b"), key_of("ab"), key_of("b", "a"), key_of("a", "b", "")}) == 4
