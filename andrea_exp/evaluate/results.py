"""What one run measured, as `results.json` holds it. None: does not apply, or not measured yet."""

from dataclasses import dataclass

from andrea_exp.evaluate.geometry import Geometry
from andrea_exp.evaluate.ledger import Ledger
from andrea_exp.evaluate.length_row import LengthRow
from andrea_exp.evaluate.order import Order
from andrea_exp.evaluate.slots import SlotLoss
from andrea_exp.evaluate.smoothness import Smoothness

SCHEMA = 1
"""Raised whenever a reader of older files would misread a newer one."""


@dataclass(kw_only=True, frozen=True)
class Throughput:
    """Speed and memory of the training."""

    tokens_per_s: float | None
    """Training tokens per second of wall time, over the steps after the first."""
    step_ms_median: float | None
    first_step_s: float | None
    """Wall time of the first step, with whatever is compiled or loaded on its way."""
    peak_memory_mb: float | None
    """Of the device's memory, or of the process on a CPU; in 10^6 bytes."""


@dataclass(kw_only=True, frozen=True)
class Final:
    """Losses at the end, and the lines to read them by."""

    train_loss_nats: float | None
    """The last logged mean of the training loss."""
    val_loss_nats: float | None
    """Block, at the trained length."""
    floor_nats: float | None
    """Where it is known, what the best possible predictor loses on the targets of `val_loss_nats`,
    shown the same windows; for data without such a predictor, their exact entropy per token."""
    unigram_nats: float | None
    uniform_nats: float | None
    """ln V of the ids that can occur."""
    bigram_nats: float | None


@dataclass(kw_only=True, frozen=True)
class Results:
    """The whole file."""

    schema: int
    cost: Ledger
    lengths: list[LengthRow]
    slots: list[SlotLoss] | None
    """None for data that cannot tell what a token is in its sentence."""
    smoothness: Smoothness
    geometry: Geometry | None
    """None if no pair of tokens was asked for and the data know none."""
    order: Order | None
    """None for windows so short that there is no order to change."""
    throughput: Throughput
    final: Final
