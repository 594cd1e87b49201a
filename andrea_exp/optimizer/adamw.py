"""Adam with decoupled weight decay, Loshchilov and Hutter 2019 (arXiv:1711.05101)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from torch import optim
from typing_extensions import override

from andrea_exp.component import above, fraction_below_one
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import Group, Kind


@final
@dataclass(kw_only=True, frozen=True)
class AdamwConfig(OptimizerConfig):
    """AdamW. A decayed parameter shrinks by lr * weight_decay per step, apart from the gradient.

    With weight_decay 0 it is Adam (Kingma and Ba 2015, arXiv:1412.6980).
    """

    beta1: float = field(metadata=fraction_below_one())
    """Share of the running mean of gradients that is kept per step."""
    beta2: float = field(metadata=fraction_below_one())
    """Share of the running mean of squared gradients that is kept per step."""
    eps: float = field(metadata=above(0))
    """Added to the root of the second moment."""

    @property
    @override
    def moments(self) -> int:
        return 2

    @override
    def kept(self, kind: Kind, *, max_steps: int) -> float:
        decay = self.decay(kind)
        return math.prod(1 - rate * decay for rate in self.rates(max_steps))

    @override
    def build(self, groups: Sequence[Group]) -> optim.Optimizer:
        return optim.AdamW(
            self.torch_groups(groups),
            lr=self.lr,
            betas=(self.beta1, self.beta2),
            eps=self.eps,
            fused=True,  # one pass over each parameter; torch's default loop costs more per step
        )
