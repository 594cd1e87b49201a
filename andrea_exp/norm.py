"""Layer norm and RMS norm, each with or without gain and bias.

Ba et al. 2016 (arXiv:1607.06450); Zhang and Sennrich 2019 (arXiv:1910.07467).
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.component import Config, above


class NormKind(Enum):
    """What is divided by: the spread around the mean, or the root mean square."""

    layer = "layer"
    rms = "rms"


@dataclass(kw_only=True, frozen=True)
class NormConfig(Config):
    """One kind of norm."""

    kind: NormKind
    gain: bool
    """Whether each feature has a trained factor."""
    bias: bool
    """Whether each feature has a trained offset."""
    eps: float = field(metadata=above(0))
    """Added to the variance or mean square."""

    def build(self, width: int) -> "Norm":
        """A norm over `width` features, with gain 1 and bias 0."""
        return Norm(width, config=self)


@final
class Norm(nn.Module):
    """Normalises the last axis."""

    def __init__(self, width: int, *, config: NormConfig) -> None:
        super().__init__()
        self._config = config
        self._width = width
        self.weight = nn.Parameter(torch.ones(width)) if config.gain else None
        self.bias = nn.Parameter(torch.zeros(width)) if config.bias else None

    @override
    def forward(self, x: Float[Tensor, "... D"]) -> Float[Tensor, "... D"]:
        shape, eps = (self._width,), self._config.eps
        if self._config.kind is NormKind.layer:
            return F.layer_norm(x, shape, self.weight, self.bias, eps)
        scaled = F.rms_norm(x, shape, self.weight, eps)
        return scaled if self.bias is None else scaled + self.bias

    def initialise(self) -> None:
        """Gain 1, bias 0."""
        if self.weight is not None:
            nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)
