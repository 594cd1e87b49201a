"""Sums over the steps since the last row, and the rows made of them."""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Self, final


class Step(NamedTuple):
    """One optimizer step, or one that was not taken because it is not finite."""

    loss_nats: float
    """Mean loss of its batches."""
    grad_norm: float
    """Global gradient norm before clipping."""
    clipped: bool
    lr: float
    tokens: int
    """Target tokens of its batches."""

    @property
    def finite(self) -> bool:
        """Whether loss and gradient norm are finite numbers."""
        return math.isfinite(self.loss_nats) and math.isfinite(self.grad_norm)


@final
@dataclass(kw_only=True)
class Meter:
    """What a checkpoint must keep for the next row to be the one of an uninterrupted run."""

    steps: int
    """Steps since the last row."""
    loss_nats: float
    """Sum of their losses."""
    grad_norm: float
    """Sum of their gradient norms."""
    clipped: int
    """How many of them were clipped."""
    tokens: int
    """Tokens since the beginning."""
    row_tokens: int
    """Tokens at the last row."""
    row_elapsed_s: float
    """Training time at the last row."""

    @classmethod
    def zero(cls) -> Self:
        """At the beginning of a training."""
        return cls(
            steps=0,
            loss_nats=0.0,
            grad_norm=0.0,
            clipped=0,
            tokens=0,
            row_tokens=0,
            row_elapsed_s=0.0,
        )

    def add(self, step: Step) -> None:
        """Count one step."""
        self.steps += 1
        self.loss_nats += step.loss_nats
        self.grad_norm += step.grad_norm
        self.clipped += step.clipped
        self.tokens += step.tokens

    def row(self, *, step: int, lr: float, elapsed_s: float) -> dict[str, float]:
        """The means since the last row; the sums begin anew.

        Args:
            step: the step just done, counted from 1.
            lr: learning rate that it had.
            elapsed_s: training time so far.
        """
        seconds = elapsed_s - self.row_elapsed_s
        row = {
            "step": step,
            "tokens": self.tokens,
            "train_loss_nats": self.loss_nats / self.steps,
            "lr": lr,
            "grad_norm": self.grad_norm / self.steps,
            "clipped": self.clipped / self.steps,
            "elapsed_s": elapsed_s,
            "tokens_per_s": (self.tokens - self.row_tokens) / seconds,
        }
        self.steps, self.loss_nats, self.grad_norm, self.clipped = 0, 0.0, 0.0, 0
        self.row_tokens, self.row_elapsed_s = self.tokens, elapsed_s
        return row

    def state(self) -> dict[str, Any]:
        """The sums by name; `Meter(**state)` has them again."""
        return asdict(self)
