"""A linear map that is allocated but not drawn: all drawing is done by `Decoder.initialise`."""

from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override


@final
class Linear(nn.Module):
    """x weight^T, plus a bias if asked."""

    def __init__(self, width_in: int, width_out: int, *, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width_out, width_in))
        self.bias = nn.Parameter(torch.empty(width_out)) if bias else None

    @override
    def forward(self, x: Float[Tensor, "... I"]) -> Float[Tensor, "... O"]:
        return F.linear(x, self.weight, self.bias)

    def initialise(self, generator: torch.Generator, *, std: float) -> None:
        """Normal weights (all zero at std 0), zero bias."""
        nn.init.normal_(self.weight, std=std, generator=generator)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
