"""Whether kernels in CUDA C++ can run here."""

from importlib.util import find_spec
from typing import Final

import torch

from andrea_exp.kernel.backend import Use

_OLDEST: Final = (8, 0)
_DTYPES: Final = (torch.float32, torch.bfloat16, torch.float64)


def reasons(use: Use) -> list[str]:
    """Every reason why CUDA C++ cannot run for this use; empty if it can."""
    found = [] if _installed() else ["cuda-core is not installed (pip install 'andrea_exp[gpu]')"]
    if use.device.type != "cuda":
        found.append(f"CUDA computes on GPUs, and this run is on {use.device.type} (runtime=gpu)")
    elif not torch.cuda.is_available():
        found.append("torch finds no CUDA GPU")
    else:
        major, minor = torch.cuda.get_device_capability(use.device)
        if (major, minor) < _OLDEST:
            found.append(f"this GPU has compute capability {major}.{minor}, below 8.0")
    if use.dtype not in _DTYPES:
        found.append(f"its kernels know float32, bfloat16 and float64, not {use.dtype}")
    return found


def _installed() -> bool:
    # A search for a module inside a package that is missing is an error, not an answer.
    return find_spec("cuda") is not None and find_spec("cuda.core") is not None
