"""The machine under a training: what is missing, how many threads, which global settings."""

import os
import platform
import resource
import shutil
import sys
import sysconfig
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from andrea_exp.train.config import Device, RuntimeConfig

_DETERMINISTIC: Any = torch.utils.deterministic  # a module with a property, which has no type


def reasons(runtime: RuntimeConfig) -> list[str]:
    """Every reason why a training cannot run on this machine as asked; empty if it can."""
    found: list[str] = []
    if runtime.device is Device.cuda and not torch.cuda.is_available():
        found.append(
            f"runtime.device=cuda: torch {torch.__version__} sees no CUDA device here; "
            "use runtime=cpu"
        )
    elif runtime.device is Device.cuda and runtime.devices > torch.cuda.device_count():
        count = torch.cuda.device_count()
        found.append(
            f"runtime.devices={runtime.devices}: torch sees {count} CUDA devices here; "
            f"use at most runtime.devices={count}"
        )
    if runtime.devices > 1 and os.environ.get("WORLD_SIZE", "1") != "1":
        found.append(
            f"runtime.devices={runtime.devices}: WORLD_SIZE={os.environ['WORLD_SIZE']} says that "
            "torchrun or the like has started this command several times; give the command itself, "
            "which starts the other processes"
        )
    return found


def compile_reasons(runtime: RuntimeConfig) -> list[str]:
    """Every reason why torch.compile cannot make code for the CPU here; empty if it can."""
    if runtime.device is not Device.cpu:
        return []
    compiler = os.environ.get("CXX", "g++")
    header = Path(sysconfig.get_path("include"), "Python.h")
    found: list[str] = []
    if shutil.which(compiler) is None:
        found.append(f"model.compile=true: there is no {compiler}; install it, or name one by CXX")
    if not header.exists():
        found.append(f"model.compile=true: there is no {header}; install Python's headers")
    return found


def resolve_threads(runtime: RuntimeConfig) -> int:
    """Threads of torch on the CPU in each process: as asked, or its share of the cores."""
    if runtime.threads is not None:
        return runtime.threads
    return max(1, usable_cores() // runtime.devices)


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def device_name(runtime: RuntimeConfig) -> str:
    """The processor that trains, as its maker calls it where that can be found out."""
    if runtime.device is Device.cuda:
        return torch.cuda.get_device_name()
    information = Path("/proc/cpuinfo")
    lines = information.read_text(encoding="utf-8").splitlines() if information.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def peak_memory_mb(device: Device) -> float:
    """Most memory in use so far, 10^6 bytes: the resident process, or tensors on a GPU."""
    if device is Device.cuda:
        return torch.cuda.max_memory_allocated() / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024) / 1e6


def memory_bytes(device: Device) -> int:
    """All the memory that a training can have: of the machine, or of a GPU."""
    if device is Device.cuda:
        return torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def holds_to_determinism(device: Device) -> bool:
    """Whether `settings` makes torch refuse operations that may give other bits on equal input.

    On CUDA it only prefers those that do not: some have no such form there.
    """
    return device is Device.cpu


@contextmanager
def settings(runtime: RuntimeConfig) -> Generator[None]:
    """Threads, deterministic operations and a random state of one's own, all put back at the end.

    Memory that torch gives out is not filled with NaN, as deterministic operations would have it:
    that takes time, and finds what tests find.

    On CUDA, cuBLAS reads its variable when first used, so what ran before can spoil it.
    """
    threads, enabled = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    filled = _DETERMINISTIC.fill_uninitialized_memory
    cuda = runtime.device is Device.cuda
    if cuda:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.cuda.reset_peak_memory_stats()
    torch.set_num_threads(resolve_threads(runtime))
    strict = holds_to_determinism(runtime.device)
    torch.use_deterministic_algorithms(mode=True, warn_only=not strict)
    _DETERMINISTIC.fill_uninitialized_memory = False
    try:
        with torch.random.fork_rng(devices=[torch.cuda.current_device()] if cuda else []):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(mode=enabled, warn_only=warn_only)
        _DETERMINISTIC.fill_uninitialized_memory = filled
