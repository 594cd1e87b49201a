"""Liger-Kernel's backend of `cross_entropy`."""

import torch

from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.cross_entropy.liger import LigerConfig
from tests.kernel.contract import some_use

BACKEND = LigerConfig(name="liger")


def test_it_runs_where_triton_does_up_to_float32():
    for dtype in (torch.float32, torch.bfloat16):
        for device in ("cpu", "cuda"):
            use = some_use(device=torch.device(device), dtype=dtype)
            assert BACKEND.reasons(use) == triton_machine.reasons(use)
    assert BACKEND.runs_as(some_use()) == triton_machine.label("liger")


def test_float64_is_refused_with_the_reason():
    assert "float64" in BACKEND.reasons(some_use(dtype=torch.float64))[-1]
