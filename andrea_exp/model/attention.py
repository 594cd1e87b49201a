"""Multi-head self-attention: queries and keys turned, scores biased, values mixed."""

from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionOp
from andrea_exp.model.config import ModelConfig
from andrea_exp.model.linear import Linear
from andrea_exp.position.base import Position, Positions


@final
class Attention(nn.Module):
    """One attention sublayer, with as many key heads as query heads."""

    def __init__(self, config: ModelConfig, *, kernel: AttentionOp) -> None:
        super().__init__()
        self.project_in = Linear(config.d_model, 3 * config.d_model, bias=config.bias)
        self.project_out = Linear(config.d_model, config.d_model, bias=config.bias)
        self._num_heads = config.num_heads
        self._causal = config.causal
        self._dropout = config.dropout
        self._kernel = kernel

    @override
    def forward(
        self,
        x: Float[Tensor, "B T D"],
        *,
        position: Position,
        positions: Positions,
        bias: Float[Tensor, "N T T"] | None,
    ) -> Float[Tensor, "B T D"]:
        qkv_BT3NH = self.project_in(x).unflatten(-1, (3, self._num_heads, -1))
        query, key, value = qkv_BT3NH.permute(2, 0, 3, 1, 4)
        mixed_BNTH = self._kernel(
            position.turn(query, positions),
            position.turn(key, positions),
            value,
            bias=bias,
            causal=self._causal,
            dropout=self._dropout if self.training else 0.0,
        )
        return self.project_out(mixed_BNTH.transpose(1, 2).flatten(2))

    def initialise(self, generator: torch.Generator, *, std: float, std_out: float) -> None:
        """Draw the matrices; `std_out` is for the one before the residual sum."""
        self.project_in.initialise(generator, std=std)
        self.project_out.initialise(generator, std=std_out)
