"""Every system of `conf/system/` trains, at its own vocabulary, on text of its own alphabet."""

import string
from pathlib import Path

import numpy as np
import pytest

from andrea_exp.config.catalogue import groups
from andrea_exp.config.request import request
from tests.commands import tiny

STEPS = ("trainer.max_steps=2", "trainer.accumulation=1", "optimizer.schedule.warmup_steps=0")
LESS = ("data.batch_size=4", "evaluation.length_factors=[0.5,1,2]")
RUNNING = (*tiny.QUICK, *tiny.RUNNING, *STEPS, *LESS)
SMALLER = ("model.num_layers=1", "model.context=16")
SIZES = {
    "gpt2": ("model.d_model=24", *SMALLER),
    "nanogpt": ("model.d_model=24", *SMALLER),
    "andrea_12m": ("model.d_model=24", *SMALLER),
    "andrea_120m": ("model.d_model=24", *SMALLER),
    "andrea_480m": ("model.d_model=48", *SMALLER),
    "nanogpt_shakespeare": ("model.d_model=12", *SMALLER),
}
"""Systems of ten million parameters and more, at widths that their heads divide."""

LETTERS = string.ascii_lowercase
SHAKESPEARE = string.ascii_letters + "\n !$&',-.3:;?"
LEARNED = 300
"""Ids that a byte-pair encoding learns from so little text; the rows above are padding."""
ALPHABETS = {"chars": LETTERS, "chars_no_bos": SHAKESPEARE}
"""Characters of the texts that systems with such a tokenizer are made for; others take any."""


def text(alphabet: str) -> str:
    """Five thousand characters in no order, every one of the alphabet among the first."""
    drawn = np.random.default_rng(0).choice(list(alphabet), size=5000)
    return alphabet + "".join(drawn)


@pytest.mark.parametrize("system", groups()["system"])
def test_a_system_trains_at_its_own_vocabulary(system: str, place: Path) -> None:
    tokenizer = request([f"system={system}"]).composed.choices["tokenizer"]
    assert tokenizer is not None
    (place / "own.txt").write_text(text(ALPHABETS.get(tokenizer, string.printable)))
    learned = [f"tokenizer.size={LEARNED}"] if tokenizer.startswith("bpe") else []
    words = [f"system={system}", "data=text", "data.path=own.txt", *RUNNING]
    asked = request([*words, *SIZES.get(system, ()), *learned])
    vocab = asked.config.recipe.model.vocab
    run = tiny.train_request(asked)
    assert [row["step"] for row in tiny.metrics(run)] == [2]
    results = tiny.results(run)
    assert isinstance(results["final"]["val_loss_nats"], float)
    unused = results["cost"]["padding_rows"]
    assert unused == (vocab - LEARNED if learned and vocab else 0)


def test_the_reduced_systems_are_there() -> None:
    assert set(SIZES) <= set(groups()["system"])
