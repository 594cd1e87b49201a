"""How a training ended, and what it measured of itself."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, final


class Ended(Enum):
    """Why the training loop was left."""

    completed = "all steps were done"
    interrupted = "by a person: SIGINT"
    preempted = "by a scheduler: SIGTERM, SIGUSR1 or SIGUSR2"
    nan = "a loss or gradient norm was not finite"


class GroupSummary(NamedTuple):
    """One parameter group, for the record."""

    name: str
    weight_decay: float
    size: int
    """Numbers in it."""
    parameters: list[str]
    """Names in the model."""


@final
@dataclass(kw_only=True, frozen=True)
class Outcome:
    """A training. Times are of this process alone; null where it did too few steps to measure."""

    ended: Ended
    steps: int
    """Optimizer steps done, those before a resume included."""
    resumed_from: int
    """Of these, the steps that a checkpoint brought; 0: started from the beginning."""
    nonfinite_step: int | None
    """The step, counted from 1, that was not taken because its loss or gradient norm was not
    finite."""
    train_loss_nats: float | None
    """`train_loss_nats` of the last row."""
    first_step_s: float | None
    """Time of the first step; compiling is part of it."""
    step_ms_median: float | None
    """Median time of the later steps, without checkpoints and logging."""
    tokens_per_s: float | None
    """Training tokens of the later steps over their time."""
    peak_memory_mb: float
    """Most memory in use, 10^6 bytes: the resident process on the CPU, tensors on a GPU."""
    deterministic: bool
    """Whether torch was held to operations that give equal bits on equal input."""
    groups: list[GroupSummary]
