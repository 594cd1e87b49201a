"""Stochastic gradient descent with momentum, Sutskever et al. 2013 (PMLR 28), in torch's form.

velocity = momentum * velocity + gradient, and a step is -lr * velocity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from torch import optim
from typing_extensions import override

from andrea_exp.component import fraction_below_one
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import Group, Kind


@final
@dataclass(kw_only=True, frozen=True)
class SgdConfig(OptimizerConfig):
    """SGD. Weight decay is coupled: weight_decay times the parameter is added to the gradient."""

    momentum: float = field(metadata=fraction_below_one())
    """Share of the velocity that is kept per step; 0: plain descent, without state."""

    @property
    @override
    def moments(self) -> int:
        return 1 if self.momentum > 0 else 0

    @override
    def kept(self, kind: Kind, *, max_steps: int) -> float:
        decay, left, velocity = self.decay(kind), 1.0, 0.0
        for rate in self.rates(max_steps):
            velocity = self.momentum * velocity + decay * left
            left -= rate * velocity
        return left

    @override
    def build(self, groups: Sequence[Group]) -> optim.Optimizer:
        return optim.SGD(self.torch_groups(groups), lr=self.lr, momentum=self.momentum, fused=True)
