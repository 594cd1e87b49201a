"""What may be launched at all, on a GPU or by the emulator."""

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.launcher import checked


def test_the_device_of_the_tensors_is_where_a_kernel_runs():
    arguments = [torch.zeros(3), 5, torch.zeros(2, device="cpu"), 2.5]
    assert checked((1, 65535, 1), 1024, arguments) == torch.device("cpu")


@pytest.mark.parametrize(
    ("grid", "block", "arguments", "said"),
    [
        ((0, 1, 1), 32, [torch.zeros(3)], r"\(0, 1, 1\)"),
        ((1, 65536, 1), 32, [torch.zeros(3)], "65536"),
        ((1, 1, 1), 48, [torch.zeros(3)], "48 threads are not whole warps"),
        ((1, 1, 1), 0, [torch.zeros(3)], "0 threads"),
        ((1, 1, 1), 1056, [torch.zeros(3)], "1056 threads"),
        ((1, 1, 1), 32, [3, 2.5], "no device"),
        ((1, 1, 1), 32, [torch.zeros(3), torch.zeros(3, device="meta")], "meta"),
        ((1, 1, 1), 32, [torch.zeros(3, 2).T], "tensor 0 is not contiguous"),
    ],
)
def test_a_launch_that_breaks_the_convention_is_a_fault_of_the_program(
    grid: tuple[int, int, int], block: int, arguments: list[Tensor | int | float], said: str
):
    with pytest.raises(AssertionError, match=said):
        checked(grid, block, arguments)
