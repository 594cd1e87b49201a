"""How long one call takes.

`torch.utils.benchmark` and `triton.testing.do_bench` time one function over and over before the
next; here one call of each takes its turn, so that whatever else the machine does hits all alike.
The second flushes the cache of a GPU between calls, and so does this.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, final

import torch
from typing_extensions import override

_FLUSHES: Final = 2
"""Sizes of the L2 cache that are written to flush it."""


class Clock(ABC):
    """Times calls on one device. Each subclass is final."""

    @abstractmethod
    def ms(self, call: Callable[[], object]) -> float:
        """Milliseconds of one call, what it gives back dropped afterwards."""


@final
class CpuClock(Clock):
    """Wall time. Caches stay as the call before left them."""

    @override
    def ms(self, call: Callable[[], object]) -> float:
        began = time.perf_counter_ns()
        kept = call()
        ended = time.perf_counter_ns()
        del kept
        return (ended - began) / 1e6


@final
class CudaClock(Clock):
    """Time on the current stream, from the start of the first kernel to the end of the last.

    The L2 cache is overwritten before. Gaps in which the GPU waits for Python count.
    """

    def __init__(self, device: torch.device) -> None:
        size = _FLUSHES * torch.cuda.get_device_properties(device).L2_cache_size
        self._flush = torch.empty(size, dtype=torch.int8, device=device)

    @override
    def ms(self, call: Callable[[], object]) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._flush.zero_()
        start.record()
        kept = call()
        end.record()
        end.synchronize()
        del kept
        return start.elapsed_time(end)


def clock_of(device: torch.device) -> Clock:
    """The clock for a device."""
    return CudaClock(device) if device.type == "cuda" else CpuClock()
