"""Rows past T of a longer table after a real training: the bits they began with, or the floor."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from andrea_exp import compose
from tests.commands import tiny

T = 8
STEPS = 20
LONG = (f"position.rows={2 * T}", f"trainer.max_steps={STEPS}", "trainer.log_every_steps=5")
DECAY = ("optimizer.decay_positions=true", "optimizer.weight_decay=0.6", "optimizer.lr=0.03")


def tables(run: Path, *words: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The table before and after training."""
    before = compose(*tiny.WORDS, *LONG, *words).build_model().position.table()
    assert before is not None
    return before.detach(), load_file(run / "model.safetensors")["position.weight"]


def drift(run: Path) -> dict[str, Any]:
    return tiny.results(run)["smoothness"]["drift"]


def test_without_decay_they_are_bit_identical_to_their_start(place: Path) -> None:
    run = place / tiny.train(*tiny.WORDS, *LONG)
    before, after = tables(run)
    assert torch.equal(before[T:], after[T:])
    assert (before[:T] != after[:T]).any(dim=1).all()
    found = drift(run)
    assert found["relative"][T:] == found["one_minus_cosine"][T:] == [0.0] * T
    assert min(found["relative"][:T]) > 0
    assert (found["decay_floor"], found["first_untrained_row"]) == (0, T)


def test_with_decay_they_lie_at_its_floor(place: Path) -> None:
    run = place / tiny.train(*tiny.WORDS, *LONG, *DECAY)
    before, after = tables(run, *DECAY)
    # Cosine from step 0, as tiny.SHORT has no warm-up: .55 + .45 cos of the peak.
    rates = [0.03 * (0.55 + 0.45 * math.cos(math.pi * k / (STEPS - 1))) for k in range(STEPS)]
    floor = 1 - math.prod(1 - 0.6 * rate for rate in rates)
    found = drift(run)
    assert found["decay_floor"] == pytest.approx(floor, rel=1e-12)
    assert found["relative"][T:] == pytest.approx([floor] * T, rel=1e-5)
    assert found["one_minus_cosine"][T:] == pytest.approx([0] * T, abs=1e-10)
    assert found["first_untrained_row"] == T
    moved = (after - before).double().norm(dim=1) / before.double().norm(dim=1)
    assert found["relative"] == pytest.approx(moved.tolist(), rel=1e-6)
    assert all(abs(each / floor - 1) > 1e-3 for each in found["relative"][:T])


def test_a_table_of_t_rows_has_none_and_a_fixed_one_has_no_drift(place: Path) -> None:
    assert drift(place / tiny.train(*tiny.WORDS))["first_untrained_row"] is None
    assert drift(place / tiny.train(*tiny.WORDS, "position=sinusoidal")) is None
