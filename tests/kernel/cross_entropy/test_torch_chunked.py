"""torch's own chunks as a backend of `cross_entropy`."""

import torch
import torch.nn.functional as F

from andrea_exp.kernel.cross_entropy.torch_chunked import TorchChunkedConfig
from tests.kernel.contract import some_use

BACKEND = TorchChunkedConfig(name="torch_chunked")


def test_it_runs_on_every_device_in_float32_and_float64():
    for dtype in (torch.float32, torch.float64):
        for device in ("cpu", "cuda"):
            assert BACKEND.reasons(some_use(device=torch.device(device), dtype=dtype)) == []
    assert BACKEND.runs_as(some_use()) == "torch_chunked"


def test_bfloat16_is_refused_since_torch_rounds_the_losses_too():
    (why,) = BACKEND.reasons(some_use(dtype=torch.bfloat16))
    assert "rounds losses to the products' torch.bfloat16" in why
    half = torch.randn(4, 8, dtype=torch.bfloat16)
    rounded = F.linear_cross_entropy(
        half, half, torch.arange(4), reduction="none", options=torch.nn.LinearCrossEntropyOptions()
    )
    assert rounded.dtype == torch.bfloat16
