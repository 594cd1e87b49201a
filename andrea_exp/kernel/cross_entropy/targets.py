"""Which targets there are: the ids of the rows that are scored."""

from typing import Final

import torch
from jaxtyping import Int64
from torch import Tensor

NO_ID: Final = torch.iinfo(torch.int64).min
"""For torch's `ignore_index`, whose own default, -100, has a loss of 0 in silence."""


def check_range(targets: Int64[Tensor, " R"], *, vocab: int) -> None:
    """Refuse targets outside 0..V-1; a compiled step leaves it to the gather of the logits.

    Raises:
        TypeError: they are not int64.
        ValueError: on the CPU. A GPU stops at an assertion of its own, since the program would
            have to wait for it otherwise.
    """
    if targets.dtype != torch.int64:  # kernels would read other numbers, and torch a mask
        raise TypeError(f"targets must be int64, got {targets.dtype}")
    if torch.compiler.is_compiling() or targets.numel() == 0:
        return
    if targets.device.type != "cpu":
        inside = ((targets >= 0) & (targets < vocab)).all()
        torch.ops.aten._assert_async.msg(inside, f"a target lies outside 0..{vocab - 1}")
        return
    low, high = (int(end) for end in torch.aminmax(targets))
    if low < 0 or high >= vocab:
        wrong = low if low < 0 else high
        raise ValueError(f"target {wrong} is outside 0..{vocab - 1}, the ids that are scored")
