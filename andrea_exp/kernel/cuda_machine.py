"""Whether kernels in CUDA C++ can run here."""

from importlib.util import find_spec
from typing import Final

import torch

from andrea_exp.kernel.backend import Use

_OLDEST: Final = (8, 0)
_NEEDED: Final = ("cuda.core", "cuda.bindings")
"""Packages; cuda-core alone, without an extra for a version of CUDA, lacks the second."""
_DTYPES: Final = (torch.float32, torch.bfloat16, torch.float64)


def reasons(use: Use) -> list[str]:
    """Every reason why CUDA C++ cannot run for this use; empty if it can."""
    found = [] if _installed() else ["cuda-core is not installed (pip install 'andrea_exp[gpu]')"]
    if use.device.type != "cuda":
        found.append(f"CUDA computes on GPUs, and this run is on {use.device.type} (runtime=gpu)")
    elif not torch.cuda.is_available():
        found.append("torch finds no CUDA GPU")
    else:
        found += _of_gpu(torch.cuda.get_device_capability(use.device))
    if use.dtype not in _DTYPES:
        found.append(f"its kernels know float32, bfloat16 and float64, not {use.dtype}")
    return found


def _of_gpu(capability: tuple[int, int]) -> list[str]:
    if capability < _OLDEST:
        return [f"this GPU has compute capability {capability[0]}.{capability[1]}, below 8.0"]
    if not _installed():
        return []
    # cuda-core need not be installed where another backend is chosen.
    from andrea_exp.kernel.cuda_program import misfits, newest_cuda  # noqa: PLC0415

    return misfits(capability=capability, newest_cuda=newest_cuda())


def _installed() -> bool:
    try:
        return all(find_spec(name) is not None for name in _NEEDED)
    except ModuleNotFoundError:  # there is no `cuda`, or one that is no package
        return False
