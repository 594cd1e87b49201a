"""The conversions of numbers.cuh against torch's."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

pytest.importorskip("cuda.core")

from andrea_exp.kernel import cuda_machine
from andrea_exp.kernel.cuda_program import Program
from andrea_exp.kernel.launcher import Launcher
from tests.kernel.contract import DEVICE, some_use
from tests.kernel.cuda_host.program import HostProgram

SOURCE = Path(__file__).parent / "cuda_host" / "kernels.cu"
UPPER_HALVES = torch.arange(1 << 16, dtype=torch.int32, device=DEVICE) << 16


def program() -> Launcher:
    """On a GPU where there is one."""
    return HostProgram(SOURCE) if cuda_machine.reasons(some_use()) else Program(SOURCE)


def equal(found: Tensor, true: Tensor) -> bool:
    """Bit by bit, but for which NaN it is."""
    bits = {2: torch.int16, 4: torch.int32}[true.element_size()]
    same = found.view(bits) == true.view(bits)
    return bool((same | (found.isnan() & true.isnan())).all())


def test_every_bfloat16_is_widened_as_torch_does():
    numbers = (UPPER_HALVES >> 16).to(torch.int16).view(torch.bfloat16)
    wide = torch.empty(len(numbers), device=DEVICE)
    arguments = [wide, numbers, len(numbers)]
    program().launch("widen_bf16", grid=(1, 1, 1), block=1024, arguments=arguments)
    assert equal(wide, numbers.float())


@pytest.mark.parametrize("lower_half", [0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF])
def test_between_any_two_bfloat16_numbers_are_rounded_as_torch_does(lower_half: int):
    numbers = (UPPER_HALVES | lower_half).view(torch.float32)
    narrowed = torch.empty(len(numbers), dtype=torch.bfloat16, device=DEVICE)
    arguments = [narrowed, numbers, len(numbers)]
    program().launch("narrow_bf16", grid=(1, 1, 1), block=1024, arguments=arguments)
    assert equal(narrowed, numbers.bfloat16())
