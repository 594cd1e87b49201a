"""What starts CUDA kernels, and the convention that the kernels keep."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import torch
from torch import Tensor

HEADER: Final = Path(__file__).with_name("numbers.cuh")
"""The only header that kernels include."""
WARP: Final = 32
_MOST_THREADS: Final = 1024
_MOST_BLOCKS: Final = (2**31 - 1, 65535, 65535)


class Launcher(Protocol):
    """The kernels of one `.cu` file.

    They are `extern "C" __global__` functions that return nothing. A tensor arrives as a pointer to
    its first element, bfloat16 as `bfloat16*` of numbers.cuh; an int as `long long`, a float as
    `double`.
    """

    def launch(
        self,
        kernel: str,
        *,
        grid: tuple[int, int, int],
        block: int,
        arguments: Sequence[Tensor | int | float],
    ) -> None:
        """Start one kernel.

        Args:
            kernel: name of the function.
            grid: blocks along x, y and z, each at least 1.
            block: threads of a block along x: whole warps of 32, at most 1024.
            arguments: those of the function in order; tensors are contiguous and on one device.
        """
        ...


def checked(
    grid: tuple[int, int, int], block: int, arguments: Sequence[Tensor | int | float]
) -> torch.device:
    """The device of the tensors, of a launch that keeps the convention."""
    assert all(1 <= count <= most for count, most in zip(grid, _MOST_BLOCKS, strict=True)), grid
    assert block % WARP == 0, f"{block} threads are not whole warps"
    assert 1 <= block <= _MOST_THREADS, f"{block} threads in a block"
    tensors = [each for each in arguments if isinstance(each, Tensor)]
    devices = {tensor.device for tensor in tensors}
    assert len(devices) == 1, f"tensors on {devices or 'no device'}"
    for index, tensor in enumerate(tensors):
        assert tensor.is_contiguous(), f"tensor {index} is not contiguous: {tensor.stride()}"
    return devices.pop()
