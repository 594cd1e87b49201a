"""Whether Triton can run here: on a GPU, or on the CPU by its interpreter."""

import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from typing import Final

import torch
from torch import Tensor

from andrea_exp.kernel.backend import Use

INTERPRETER: Final = "TRITON_INTERPRET"
"""Environment variable: 1 lets Triton's interpreter run kernels on the CPU, slowly. Triton reads it
when kernels are defined, so it is set before the program starts."""
_YES: Final = {"1", "true", "yes", "on", "y"}
"""What Triton takes for a yes, in letters of any size."""
_OLDEST: Final = (8, 0)
_TURN: Final = threading.Lock()
"""Of the interpreter, which keeps in one place for all threads which program it is in."""


def reasons(use: Use) -> list[str]:
    """Every reason why Triton cannot run for this use; empty if it can."""
    if find_spec("triton") is None:
        return ["Triton is not installed (pip install 'andrea_exp[gpu]', on Linux)"]
    if interpreted():
        word = os.environ[INTERPRETER]
        asked = f"{INTERPRETER}={word} is set, and its interpreter computes on the CPU"
        return [] if use.device.type == "cpu" else [f"{asked}, not on {use.device.type}"]
    if use.device.type != "cuda":
        return [
            f"Triton computes on GPUs, and this run is on {use.device.type} "
            f"(runtime=gpu; or {INTERPRETER}=1 for its slow interpreter)"
        ]
    if not torch.cuda.is_available():
        return ["torch finds no CUDA GPU"]
    capability = torch.cuda.get_device_capability(use.device)
    if capability < _OLDEST:
        return [f"this GPU has compute capability {capability[0]}.{capability[1]}, below 8.0"]
    return []


def interpreted() -> bool:
    """Whether kernels are interpreted, as Triton reads the variable."""
    return os.environ.get(INTERPRETER, "").lower() in _YES


def label(name: str) -> str:
    """A backend's name as a run records it."""
    return f"{name} (interpreted)" if interpreted() else name


@contextmanager
def launching(beside: Tensor) -> Generator[None]:
    """To launch kernels in: on the GPU of this tensor, or one thread at a time if interpreted."""
    with torch.cuda.device_of(beside), _TURN if interpreted() else nullcontext():
        yield
