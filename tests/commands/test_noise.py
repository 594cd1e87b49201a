"""On noise there is nothing to learn: a trained model stays at ln V."""

import math
from pathlib import Path

import pytest

from tests.commands import tiny

V = 11
WORDS = (
    *tiny.WORDS,
    f"data.vocab={V}",
    "data.validation_tokens=20000",
    "evaluation.block_targets=19000",
    "evaluation.length_factors=[1]",
    "trainer.max_steps=600",
    "optimizer.lr=1e-3",
    "optimizer.schedule.final_fraction=0",
    "evaluation.probe_every_steps=null",
)


@pytest.mark.slow
def test_a_trained_model_stays_at_the_entropy_of_noise_within_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    results = tiny.results(tiny.train(*WORDS))
    (row,) = (row for row in results["lengths"] if row["protocol"] == "block")
    excess = row["loss_nats"] - math.log(V)
    assert results["final"]["floor_nats"] == pytest.approx(math.log(V))
    assert 0 < row["loss_se"] < 0.002
    assert abs(excess) < 4 * row["loss_se"], (excess, row["loss_se"])


def test_a_model_that_has_not_learned_that_yet_lies_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    results = tiny.results(tiny.train(*WORDS, "trainer.max_steps=1", "embedding.std=0.5"))
    (row,) = (row for row in results["lengths"] if row["protocol"] == "block")
    assert row["loss_nats"] - math.log(V) > 10 * row["loss_se"]
