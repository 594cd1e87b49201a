"""Two files, of which one is always whole."""

import errno
import os
import pickle
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from andrea_exp.disk import DiskFull
from andrea_exp.train.checkpoint import Checkpoint, read, remove, write

STAMP: dict[str, str | int] = {"recipe": "abc"}


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        step=step,
        batch=2 * step,
        model={"weight": torch.full((50, 30), float(step))},
        optimizer={"state": {}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        cpu_random=[torch.get_rng_state()],
        cuda_random=None,
        meter={"steps": 1},
        elapsed_s=0.5,
        train_loss_nats=None,
        stamp=STAMP,
    )


def step_read(folder: Path) -> int | None:
    found = read(folder, stamp=STAMP)
    return None if found is None else found.step


def test_what_is_written_is_read(tmp_path: Path):
    write(checkpoint(7), folder=tmp_path)
    found, expected = read(tmp_path, stamp=STAMP), checkpoint(7)
    assert found is not None
    assert torch.equal(found.model["weight"], expected.model["weight"])
    assert (found.step, found.batch, found.optimizer) == (7, 14, expected.optimizer)


def test_the_last_one_is_read_and_the_one_before_is_kept(tmp_path: Path):
    for step in (1, 2, 3):
        write(checkpoint(step), folder=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]
    assert step_read(tmp_path) == 3
    (tmp_path / "last.ckpt").unlink()
    assert step_read(tmp_path) == 2


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoints of steps 1 and 2, and the bytes of the latter in `whole`."""
    folder = tmp_path_factory.mktemp("two")
    for step in (1, 2):
        write(checkpoint(step), folder=folder)
    (folder / "whole").write_bytes((folder / "last.ckpt").read_bytes())
    return folder


def cut(content: bytes, place: float, _more: int) -> bytes:
    return content[: int(place * len(content))]


def flip(content: bytes, place: float, more: int) -> bytes:
    at = int(place * len(content))
    return content[:at] + bytes([content[at] ^ (1 + more % 255)]) + content[at + 1 :]


def fill_with_zeros(content: bytes, place: float, more: int) -> bytes:
    at = int(place * len(content))
    stop = min(len(content), at + 1 + more)
    return content[:at] + bytes(stop - at) + content[stop:]


def lengthen(content: bytes, _place: float, more: int) -> bytes:
    return content + bytes(1 + more)


@settings(max_examples=300, deadline=None)
@given(
    damage=st.sampled_from([cut, flip, fill_with_zeros, lengthen]),
    place=st.floats(min_value=0, max_value=1, exclude_max=True),
    more=st.integers(min_value=0, max_value=5000),
)
def test_a_damaged_checkpoint_is_the_one_before_whatever_is_wrong_with_it(
    two: Path, damage: Callable[[bytes, float, int], bytes], place: float, more: int
):
    whole = (two / "whole").read_bytes()
    damaged = damage(whole, place, more)
    (two / "last.ckpt").write_bytes(damaged)
    found, expected = read(two, stamp=STAMP), checkpoint(2 if damaged == whole else 1)
    assert found is not None
    assert found.step == expected.step
    assert torch.equal(found.model["weight"], expected.model["weight"])


def test_saboteur_torch_alone_takes_flipped_bits_for_weights(tmp_path: Path):
    write(checkpoint(2), folder=tmp_path)
    last = tmp_path / "last.ckpt"
    content = last.read_bytes()
    at = content.index(checkpoint(2).model["weight"].numpy().tobytes())
    last.write_bytes(flip(content, (at + 2.5) / len(content), 0))
    loaded = torch.load(last, weights_only=True)["model"]["weight"]
    assert not torch.equal(loaded, checkpoint(2).model["weight"])
    assert read(tmp_path, stamp=STAMP) is None


def without_a_field(path: Path) -> None:
    saved = {name: value for name, value in vars(checkpoint(2)).items() if name != "meter"}
    other = path.parent / "other"
    other.mkdir()
    write(Foreign(saved), folder=other)  # pyright: ignore[reportArgumentType]
    (other / "last.ckpt").replace(path)


class Foreign:
    """What `write` would make a file of, had another version other fields."""

    def __init__(self, saved: dict[str, Any]) -> None:
        vars(self).update(saved)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "a dictionary": lambda path: torch.save({"epoch": 3}, path),
    "a list": lambda path: torch.save([1, 2], path),
    "a pickle": lambda path: path.write_bytes(pickle.dumps({"step": 2})),
    "a text": lambda path: path.write_text("step: 2"),
    "nothing": lambda path: path.write_bytes(b""),
    "a folder": Path.mkdir,
    "another version's": without_a_field,
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_checkpoint_is_skipped_with_one_warning_that_names_it(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
):
    write(checkpoint(1), folder=tmp_path)
    (tmp_path / "last.ckpt").replace(tmp_path / "previous.ckpt")
    FOREIGN[kind](tmp_path / "last.ckpt")
    assert step_read(tmp_path) == 1
    (warning,) = caplog.messages
    start = f"{tmp_path}/last.ckpt cannot be read and is skipped: "
    assert warning.startswith(start)
    assert len(warning) > len(start) + 10
    assert "\n" not in warning


def test_without_any_that_is_whole_the_beginning_is_announced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    assert step_read(tmp_path) is None
    assert caplog.messages == []
    for name in ("last.ckpt", "previous.ckpt"):
        (tmp_path / name).write_bytes(b"PK")
    assert step_read(tmp_path) is None
    assert "starts from the beginning" in caplog.messages[-1]


@pytest.mark.parametrize("damaged", [False, True], ids=["last is whole", "last is damaged"])
@pytest.mark.parametrize("renames", [0, 1, 2, 3])
def test_a_kill_between_two_renames_leaves_a_whole_one(
    tmp_path: Path, renames: int, damaged: bool, monkeypatch: pytest.MonkeyPatch
):
    for step in (1, 2):
        write(checkpoint(step), folder=tmp_path)
    if damaged:
        (tmp_path / "last.ckpt").write_bytes(b"PK")
    rename, left = os.replace, [renames]

    def killed(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        if renames < 3:
            with pytest.raises(KeyboardInterrupt):
                write(checkpoint(3), folder=tmp_path)
        else:
            write(checkpoint(3), folder=tmp_path)
    assert step_read(tmp_path) == (3 if renames > 1 else 1 if damaged else 2)
    write(checkpoint(4), folder=tmp_path)
    assert step_read(tmp_path) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]


def test_forgetting_leaves_nothing(tmp_path: Path):
    for step in (1, 2):
        write(checkpoint(step), folder=tmp_path)
    remove(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_last_good_one(tmp_path: Path):
    for step in (1, 2):
        write(checkpoint(step), folder=tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(DiskFull, match=rf"{tmp_path}/last.ckpt: {os.strerror(errno.EFBIG)}"):
            write(checkpoint(3), folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]
    assert step_read(tmp_path) == 2
