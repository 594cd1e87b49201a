"""What a person is told when there is no room."""

import errno
import os
from pathlib import Path

import pytest

from andrea_exp.disk import DiskFull, writing


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "make room there"),
        (errno.EDQUOT, "make room in your quota"),
        (errno.EFBIG, "ulimit -f"),
    ],
)
def test_the_message_has_the_file_the_reason_the_room_and_the_remedy(
    tmp_path: Path, number: int, remedy: str
) -> None:
    path = tmp_path / "a" / "b.json"
    with pytest.raises(DiskFull) as caught, writing(path, otherwise="sing"):
        raise OSError(number, "?")
    text = str(caught.value)
    assert text.startswith(f"no room to write {path}: {os.strerror(number)}, ")
    assert " MB free; " in text
    assert text.endswith(f"{remedy} or sing") or remedy == "ulimit -f"


def test_it_is_found_behind_the_errors_of_libraries(tmp_path: Path) -> None:
    torchs = RuntimeError("unexpected pos 768 vs 662")
    torchs.__context__ = OSError(errno.ENOSPC, "?")
    with pytest.raises(DiskFull, match="No space"), writing(tmp_path):
        raise torchs
    with pytest.raises(DiskFull, match="No space"), writing(tmp_path):
        raise RuntimeError("Error while serializing: No space left on device (os error 28)")


@pytest.mark.parametrize("error", [OSError(errno.EACCES, "?"), ValueError("os error"), KeyError()])
def test_other_errors_pass_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, writing(tmp_path):
        raise error
    assert caught.value is error


def test_the_innermost_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="inner"), writing(tmp_path), writing(tmp_path / "inner"):
        raise OSError(errno.ENOSPC, "?")
