"""The position-wise part of a block: widen, bend, narrow."""

from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.model.config import Activation, ModelConfig
from andrea_exp.model.linear import Linear


@final
class FeedForward(nn.Module):
    """W2 act(W1 x), or W3 (silu(W1 x) * W2 x) for a gated activation."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self._activation = config.feedforward.activation
        width = config.feedforward_width
        widened = 2 * width if self._activation is Activation.swiglu else width
        self.widen = Linear(config.d_model, widened, bias=config.bias)
        self.narrow = Linear(width, config.d_model, bias=config.bias)

    @override
    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return self.narrow(_bend(self.widen(x), self._activation))

    def initialise(self, generator: torch.Generator, *, std: float, std_out: float) -> None:
        """Draw the matrices; `std_out` is for the one before the residual sum."""
        self.widen.initialise(generator, std=std)
        self.narrow.initialise(generator, std=std_out)


def _bend(x: Float[Tensor, "B T G"], activation: Activation) -> Float[Tensor, "B T F"]:
    match activation:
        case Activation.gelu:
            return F.gelu(x)
        case Activation.gelu_tanh:
            return F.gelu(x, approximate="tanh")
        case Activation.relu:
            return F.relu(x)
        case Activation.relu_squared:
            return F.relu(x).square()
        case Activation.swiglu:
            gate, value = x.chunk(2, dim=-1)
            return F.silu(gate) * value
