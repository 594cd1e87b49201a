"""What this machine reaches at best, measured in the same sitting as the backends."""

from collections.abc import Callable
from statistics import median
from typing import Final

import torch

from andrea_exp.bench.clock import Clock

_COPIED_BYTES: Final = 2**28
"""Well beyond the last cache of any processor of today."""
_SIDES: Final = {"cpu": 1024, "cuda": 8192}
"""Of the square product, by the kind of device: one of twice the side is hardly faster."""
_CALLS: Final = 7
"""Of which the median counts; two come before, to wake the device up."""


def copy_gb_per_s(device: torch.device, clock: Clock) -> float:
    """Of a copy inside the memory, 10^9 bytes, what is read and what is written together."""
    source = torch.zeros(_COPIED_BYTES, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return 2 * _COPIED_BYTES / _usual_ms(lambda: target.copy_(source), clock) / 1e6


def product_tflop_per_s(device: torch.device, dtype: torch.dtype, clock: Clock) -> float:
    """Of a large square matrix product in this format, 10^12 operations."""
    side = _SIDES[device.type]
    left, right = torch.rand(2, side, side, device=device).to(dtype)
    return 2 * side**3 / _usual_ms(lambda: left @ right, clock) / 1e9


def _usual_ms(call: Callable[[], object], clock: Clock) -> float:
    return median([clock.ms(call) for _ in range(2 + _CALLS)][2:])
