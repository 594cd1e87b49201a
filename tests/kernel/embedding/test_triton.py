"""The Triton backend of `embedding`: when it runs, what it launches, and that this compiles."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

pytest.importorskip("triton")

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.embedding.triton import TritonConfig
from andrea_exp.kernel.embedding.triton_launch import (
    gather_block,
    gradient_block,
    rows_per_program,
)
from tests import options
from tests.kernel.contract import some_use

BACKEND = TritonConfig(name="triton")


def test_it_runs_where_triton_does_and_says_if_it_is_interpreted():
    for device in ("cpu", "cuda"):
        use = some_use(device=torch.device(device))
        assert BACKEND.reasons(use) == triton_machine.reasons(use)
    assert BACKEND.runs_as(some_use()) == triton_machine.label("triton")
    assert BACKEND.build() is BACKEND.build()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("width", [1, 2, 24, 256, 768, 5000])
def test_each_thread_of_a_gather_loads_16_bytes_at_a_time(width: int, dtype: torch.dtype):
    block = gather_block(width=width, dtype=dtype)
    assert block.places * block.features * dtype.itemsize == 32 * block.warps * 16
    gradient = gradient_block(width=width, dtype=dtype)
    assert gradient.features * dtype.itemsize <= 32 * gradient.warps * 16
    assert width <= block.features * -(-width // block.features) < width + block.features


def test_programs_of_a_large_vocabulary_own_more_rows():
    places = 8 * 1024
    found = [rows_per_program(vocab=vocab, places=places) for vocab in (27, 8_449, 50_257, 10**6)]
    assert found == [1, 2, 8, 16]


@pytest.mark.slow
def test_every_kernel_compiles_for_every_generation_of_gpu(tmp_path: Path):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernel.embedding.triton_compiled"],
        cwd=options.PACKAGE.parent,
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout)
    for name, count in (("gather", 3 * 3), ("tile_sums", 3), ("table_gradient", 3)):
        of_kernel = [each for each in compiled if each["kernel"] == f"{name}_kernel"]
        assert len(of_kernel) == 3 * count
        assert all(each["loads_of_16_bytes"] >= 4 for each in of_kernel)
        assert {each["stops_at_a_wrong_id"] for each in of_kernel} == {name == "gather"}
