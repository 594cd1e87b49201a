"""In which precision numbers are computed."""

import pytest
import torch

from andrea_exp.kernel.precision import as_autocast, exact
from tests.kernel.contract import DEVICE


def test_sums_are_float32_at_least():
    narrow = (torch.float16, torch.bfloat16, torch.float32)
    assert {exact(dtype) for dtype in narrow} == {torch.float32}
    assert exact(torch.float64) == torch.float64


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_factor_is_cast_as_by_torch(dtype: torch.dtype):
    factor = torch.ones(2, 2, dtype=dtype, device=DEVICE)
    assert as_autocast(factor) is factor
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        assert as_autocast(factor).dtype == (factor @ factor).dtype


def test_a_device_without_autocast_casts_nothing():
    factor = torch.ones(2, device="meta")
    assert as_autocast(factor) is factor
