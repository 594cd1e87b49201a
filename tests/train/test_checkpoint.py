"""Two files, of which one is always whole."""

import resource
from pathlib import Path

import pytest
import torch

from andrea_exp.train.checkpoint import Checkpoint, read, write

STAMP: dict[str, str | int] = {"recipe": "abc"}


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(
        step=step,
        batch=2 * step,
        model={"weight": torch.full((50, 30), float(step))},
        optimizer={"state": {}, "param_groups": [{"lr": 0.1, "params": [0]}]},
        cpu_random=torch.get_rng_state(),
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


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_however_little_is_missing_it_is_noticed(tmp_path: Path, share: float):
    for step in (1, 2):
        write(checkpoint(step), folder=tmp_path)
    last = tmp_path / "last.ckpt"
    last.write_bytes(last.read_bytes()[: int(share * last.stat().st_size)])
    assert step_read(tmp_path) == 1


def test_a_file_of_another_program_is_no_checkpoint(tmp_path: Path):
    torch.save({"epoch": 3}, tmp_path / "last.ckpt")
    assert step_read(tmp_path) is None
    torch.save([1, 2], tmp_path / "last.ckpt")
    assert step_read(tmp_path) is None


def test_a_full_disk_leaves_the_last_good_one(tmp_path: Path):
    for step in (1, 2):
        write(checkpoint(step), folder=tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        with pytest.raises(OSError, match=r"checkpoint of step 3 .* make room, then resume"):
            write(checkpoint(3), folder=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]
    assert step_read(tmp_path) == 2
