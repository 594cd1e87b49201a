"""A block: attention and feed-forward, each with its norm and residual sum."""

from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionOp
from andrea_exp.model.attention import Attention
from andrea_exp.model.config import ModelConfig, Placement
from andrea_exp.model.feedforward import FeedForward
from andrea_exp.position.base import Position, Positions


@final
class Block(nn.Module):
    """One layer of the decoder."""

    def __init__(self, config: ModelConfig, *, kernel: AttentionOp) -> None:
        super().__init__()
        self.norm_attention = config.norm.build(config.d_model)
        self.attention = Attention(config, kernel=kernel)
        self.norm_feedforward = config.norm.build(config.d_model)
        self.feedforward = FeedForward(config)
        self._pre = config.norm.placement is Placement.pre
        self._dropout = config.dropout

    @override
    def forward(
        self,
        x: Float[Tensor, "B T D"],
        *,
        position: Position,
        positions: Positions,
        bias: Float[Tensor, "N T T"] | None,
    ) -> Float[Tensor, "B T D"]:
        def attend(x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
            return self.attention(x, position=position, positions=positions, bias=bias)

        if self._pre:
            x = x + self._drop(attend(self.norm_attention(x)))
            return x + self._drop(self.feedforward(self.norm_feedforward(x)))
        x = self.norm_attention(x + self._drop(attend(x)))
        return self.norm_feedforward(x + self._drop(self.feedforward(x)))

    def initialise(self, generator: torch.Generator, *, std: float, std_out: float) -> None:
        """Draw the matrices; `std_out` is for those before a residual sum."""
        self.norm_attention.initialise()
        self.attention.initialise(generator, std=std, std_out=std_out)
        self.norm_feedforward.initialise()
        self.feedforward.initialise(generator, std=std, std_out=std_out)

    def _drop(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        return F.dropout(x, self._dropout, training=self.training)
