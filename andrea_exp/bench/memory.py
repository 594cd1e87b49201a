"""The most memory that a call needs at once, beyond what was there before."""

import gc
import json
import os
import tempfile
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(call: Callable[[], object], device: torch.device) -> int:
    """Of torch's allocator for this device; what a library takes elsewhere is not seen."""
    return _on_gpu(call, device) if device.type == "cuda" else _on_cpu(call)


def _on_gpu(call: Callable[[], object], device: torch.device) -> int:
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    kept = call()
    torch.cuda.synchronize(device)
    del kept
    return torch.cuda.max_memory_allocated(device) - before


def _on_cpu(call: Callable[[], object]) -> int:
    """The CPU's allocator keeps no peak, but the profiler sees each of its steps."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # it would tell its start and end on stderr
    gc.collect()  # what goes during the call shall be of the call
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = call()
    del kept
    with tempfile.TemporaryDirectory() as scratch:
        trace = Path(scratch) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    steps = [event for event in events if event.get("name") == "[memory]"]
    steps.sort(key=lambda event: event["ts"])
    return max(accumulate((step["args"]["Bytes"] for step in steps), initial=0))
