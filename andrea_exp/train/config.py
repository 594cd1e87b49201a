"""The typed choices of training: what decides the result, and on what it runs."""

from dataclasses import dataclass, field
from enum import Enum

from andrea_exp.component import Config, above, at_least, between


class Precision(Enum):
    """Arithmetic of the matrix products; parameters and optimizer state are float32 in either."""

    fp32 = "float32 throughout"
    bf16 = "bfloat16 autocast"


class Device(Enum):
    """Kind of processor."""

    cpu = "cpu"
    cuda = "cuda"


@dataclass(kw_only=True, frozen=True)
class TrainerConfig(Config):
    """How long and how one trains; part of the recipe."""

    max_steps: int = field(metadata=at_least(1))
    """Optimizer steps."""
    accumulation: int = field(metadata=at_least(1))
    """Batches whose gradients are averaged into one optimizer step."""
    clip_norm: float | None = field(metadata=above(0))
    """Largest global gradient norm; null: no clipping."""
    precision: Precision
    log_every_steps: int = field(metadata=at_least(1))
    """Optimizer steps between two lines of metrics.jsonl; each line is the mean over them."""
    checkpoint_every_steps: int = field(metadata=at_least(1))
    """Optimizer steps between two checkpoints."""


@dataclass(kw_only=True, frozen=True)
class RuntimeConfig(Config):
    """On what a run is executed; not part of the recipe."""

    device: Device
    devices: int = field(metadata=between(1, 1024))
    """Processes that train together, one per device; each takes its rows of every batch."""
    threads: int | None = field(metadata=between(1, 1024))
    """Threads of torch on the CPU in each of them; null: they share the cores that one may use."""
    workers: int = field(metadata=between(0, 256))
    """Processes that prepare batches beside each of them; 0: the training process itself."""
