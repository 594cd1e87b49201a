"""Whether CUDA C++ can run on this machine."""

import subprocess
import sys

import pytest
import torch

from andrea_exp.kernel.cuda_machine import reasons
from tests.kernel.contract import some_use

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_a_run_on_the_cpu_is_told_how_to_ask_for_a_gpu():
    (reason,) = reasons(some_use(device=CPU))
    assert reason == "CUDA computes on GPUs, and this run is on cpu (runtime=gpu)"


@pytest.mark.skipif(torch.cuda.is_available(), reason="for a machine without a CUDA device")
def test_a_machine_without_a_gpu_is_told_so():
    assert reasons(some_use(device=CUDA)) == ["torch finds no CUDA GPU"]


@pytest.mark.parametrize("dtype", [torch.float16, torch.complex64])
def test_a_precision_that_no_kernel_has_is_one_more_reason(dtype: torch.dtype):
    found = reasons(some_use(device=CPU, dtype=dtype))
    assert len(found) == 2
    assert f"not {dtype}" in found[1]


@pytest.mark.parametrize(
    "missing",
    [
        'sys.modules["cuda"] = None',
        'sys.modules["cuda"] = types.ModuleType("cuda")  # a file cuda.py of the user',
        'sys.modules["cuda.bindings"] = None  # cuda-core without an extra',
    ],
)
def test_without_a_part_of_cuda_core_one_is_told_what_to_install(missing: str):
    code = f"""
import sys, torch, types, importlib.machinery
from andrea_exp.kernel.cuda_machine import reasons
from tests.kernel.contract import some_use
{missing}
if sys.modules.get("cuda"):
    sys.modules["cuda"].__spec__ = importlib.machinery.ModuleSpec("cuda", None)
print(reasons(some_use(device=torch.device("cpu")))[0])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "cuda-core is not installed (pip install 'andrea_exp[gpu]')\n", (
        done.stderr
    )
