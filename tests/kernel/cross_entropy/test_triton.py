"""The Triton backend of `cross_entropy`, as far as the CPU can tell."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.cross_entropy.torch_rows import ROWS
from andrea_exp.kernel.cross_entropy.triton import TritonConfig
from tests import options
from tests.kernel.contract import noise, skip_where_it_cannot_run, some_use

BACKEND = TritonConfig(name="triton", rows=None)


def test_it_runs_where_triton_does():
    for device in ("cpu", "cuda"):
        use = some_use(device=torch.device(device))
        assert BACKEND.reasons(use) == triton_machine.reasons(use)
    assert BACKEND.runs_as(some_use()) == triton_machine.label("triton")


def test_rows_may_lie_apart_and_what_is_between_is_left_alone():
    skip_where_it_cannot_run(BACKEND, torch.float32)
    kernels = pytest.importorskip("andrea_exp.kernel.cross_entropy.triton_kernels").ROWS
    wide = noise(3, 24, seed=0, dtype=torch.float32)
    logits, plain = wide[:, :19], wide[:, :19].clone()
    targets, upstream = torch.tensor([0, 18, 7]).to(wide.device), wide[:, 0].clone()
    between = wide[:, 19:].clone()
    nats = kernels.losses(logits, targets)
    torch.testing.assert_close(nats, ROWS.losses(plain, targets))
    kernels.gradient_(logits, targets, upstream)
    ROWS.gradient_(plain, targets, upstream)
    torch.testing.assert_close(logits, plain)
    assert torch.equal(wide[:, 19:], between)


@pytest.mark.slow
def test_every_kernel_compiles_for_every_generation_of_gpu(tmp_path: Path):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernel.cross_entropy.triton_compiled"],
        cwd=options.PACKAGE.parent,
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout)
    assert len({tuple(kind) for *kind, _ in compiled}) == len(compiled) == 2 * 3 * 2
    for *_, sizes in compiled:
        assert list(sizes) == ["80", "90", "100"]
        assert min(sizes.values()) > 0
