"""The learning rate by step, as a multiple of its peak: warm-up, then one of three shapes."""

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import final

from andrea_exp.component import Config, at_least, between


class Shape(Enum):
    """How the learning rate falls after the warm-up."""

    constant = "not at all"
    cosine = "half a cosine down to final_fraction (Loshchilov and Hutter 2017, arXiv:1608.03983)"
    linear = "constant, then linearly down to final_fraction"


@final
@dataclass(kw_only=True, frozen=True)
class ScheduleConfig(Config):
    """Learning rate as a multiple of its peak, a function of the step alone."""

    shape: Shape
    warmup_steps: int = field(metadata=at_least(0))
    """Steps of linear rise; step k of them, counted from 0, has (k+1)/warmup_steps of the peak."""
    decay_from: float = field(metadata=between(0, 1))
    """Share of all steps after which `linear` begins to fall; the other shapes ignore it."""
    final_fraction: float = field(metadata=between(0, 1))
    """Multiple of the peak at the last step of `cosine` and `linear`."""

    def check(self, *, max_steps: int) -> None:
        """Refuse a warm-up that would not end.

        Raises:
            ValueError: it is longer than the training.
        """
        if self.warmup_steps > max_steps:
            raise ValueError(
                f"optimizer.schedule.warmup_steps={self.warmup_steps} exceeds "
                f"trainer.max_steps={max_steps}; shorten the warm-up or train longer"
            )

    def multiple(self, step: int, *, max_steps: int) -> float:
        """Multiple of the peak at `step` of 0..max_steps-1.

        The first step after the warm-up still has the whole peak.
        """
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        last = max_steps - 1
        match self.shape:
            case Shape.constant:
                return 1.0
            case Shape.cosine:
                done = _share(step, start=self.warmup_steps, last=last)
                fallen = (1 - math.cos(math.pi * done)) / 2
            case Shape.linear:
                start = max(self.warmup_steps, self.decay_from * last)
                fallen = _share(step, start=start, last=last)
        return 1 - (1 - self.final_fraction) * fallen


def _share(step: int, *, start: float, last: int) -> float:
    """How much of the way from `start` to `last` is done at `step`."""
    return max(step - start, 0) / (last - start) if last > start else 0.0
