"""Every training has GPUs of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.train.devices import claim, claimed
from tests import options
from tests.train import toy

FOUR = ["GPU-a", "GPU-b", "GPU-c", "GPU-d"]
HOLD = """
import sys
from pathlib import Path
from andrea_exp.lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_training_on_the_cpu_claims_none() -> None:
    with claimed(toy.runtime(devices=2)) as gpus:
        assert gpus == []


def test_one_after_the_other_gets_free_ones_and_gives_them_back(tmp_path: Path) -> None:
    with claim(FOUR, count=1, folder=tmp_path / "gpus") as first:
        with claim(FOUR, count=2, folder=tmp_path / "gpus") as second:
            assert (first, second) == ([0], [1, 2])
        with claim(FOUR, count=3, folder=tmp_path / "gpus") as third:
            assert third == [1, 2, 3]
    with claim(FOUR, count=4, folder=tmp_path / "gpus") as all_of_them:
        assert all_of_them == [0, 1, 2, 3]


def test_a_gpu_is_the_same_whatever_its_number_here(tmp_path: Path) -> None:
    with (
        claim(["GPU-c"], count=1, folder=tmp_path) as first,
        claim(["GPU-c", "GPU-a"], count=1, folder=tmp_path) as second,
    ):
        assert (first, second) == ([0], [1])


def test_too_few_free_ones_are_refused_with_who_has_them(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "GPU-b.lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(options.PACKAGE.parent)},
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        needed = r"2 of 2 GPUs are needed, 1 are free: GPU 1 is in use by process"
        with (
            pytest.raises(Refusal, match=rf"{needed} {other.pid} on .*; wait until a run ends"),
            claim(FOUR[:2], count=2, folder=tmp_path),
        ):
            pass
        with claim(FOUR[:2], count=1, folder=tmp_path) as gpus:  # what it took is free again
            assert gpus == [0]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(Refusal, match="ANDREA_EXP_CACHE names another"),
        claim(FOUR, count=1, folder=tmp_path / "file" / "gpus"),
    ):
        pass
