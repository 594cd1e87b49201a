"""What an optimizer option offers: torch's optimizer over named groups, and a rate schedule."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import optim

from andrea_exp.component import OptionConfig, above, at_least
from andrea_exp.optimizer.groups import Group, Kind
from andrea_exp.optimizer.schedule import ScheduleConfig


@dataclass(kw_only=True, frozen=True)
class OptimizerConfig(OptionConfig, ABC):
    """Configuration of one optimizer."""

    lr: float = field(metadata=above(0))
    """Peak learning rate."""
    weight_decay: float = field(metadata=at_least(0))
    """Decay of the decayed groups; what it multiplies is the option's own matter."""
    decay_positions: bool
    """Whether trained position rows are decayed like matrices."""
    schedule: ScheduleConfig

    @property
    @abstractmethod
    def moments(self) -> int:
        """Tensors of the parameter's shape that are kept for each parameter."""

    @abstractmethod
    def build(self, groups: Sequence[Group]) -> optim.Optimizer:
        """The optimizer over these groups, at the peak learning rate."""

    @abstractmethod
    def kept(self, kind: Kind, *, max_steps: int) -> float:
        """Factor that decay leaves of a parameter of this kind that never has a gradient.

        In exact arithmetic, over a whole training of `max_steps` steps.
        """

    def rate(self, step: int, *, max_steps: int) -> float:
        """Learning rate at `step` of 0..max_steps-1."""
        return self.lr * self.schedule.multiple(step, max_steps=max_steps)

    def rates(self, max_steps: int) -> Iterator[float]:
        """The learning rates of a whole training."""
        return (self.rate(step, max_steps=max_steps) for step in range(max_steps))

    def decay(self, kind: Kind) -> float:
        """Weight decay of a group."""
        match kind:
            case Kind.matrices:
                return self.weight_decay
            case Kind.positions:
                return self.weight_decay if self.decay_positions else 0.0
            case Kind.vectors:
                return 0.0

    def torch_groups(self, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """The groups as torch's optimizers take them, each with its name and decay."""
        return [
            {
                "name": group.kind.name,
                "params": list(group.parameters.values()),
                "weight_decay": self.decay(group.kind),
            }
            for group in groups
        ]
