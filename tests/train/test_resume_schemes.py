"""Stopped and resumed equals uninterrupted for every position scheme, tied and untied."""

import itertools
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

import andrea_exp
from andrea_exp.config.catalogue import groups
from andrea_exp.evaluate.probe import Probe
from andrea_exp.train.fit import fit
from andrea_exp.train.outcome import Ended
from andrea_exp.train.ranks import Ranks
from tests.commands import tiny

STEPS, STOP = 6, 3
WORDS = (
    *tiny.WORDS,
    f"trainer.max_steps={STEPS}",
    "trainer.accumulation=2",
    "trainer.log_every_steps=1",
    "trainer.checkpoint_every_steps=100",
    "model.dropout=0.1",
    "data.batch_size=2",
)


def train(
    folder: Path, *words: str, workers: int, resume: bool = False, stop: int | None = None
) -> tuple[Ended, dict[str, Tensor]]:
    """How a training ended, in this process, and its weights."""
    run = andrea_exp.compose(*WORDS, *words, f"runtime.workers={workers}")
    data, recipe = run.load_data(), run.recipe
    model = run.build_model(vocab=data.vocab)

    def sink(row: Mapping[str, float]) -> None:
        if row["step"] == stop:
            signal.raise_signal(signal.SIGTERM)

    outcome = fit(
        model,
        run.stream(data),
        optimizer=recipe.optimizer,
        trainer=recipe.trainer,
        runtime=run.config.running.runtime,
        seed=recipe.seed,
        checkpoints=folder,
        sink=sink,
        probe=Probe(model, data.validation(), config=recipe.evaluation),
        stamp={},
        resume=resume,
        show_progress=False,
        ranks=Ranks.alone(),
    )
    return outcome.ended, {name: value.clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize(
    ("position", "output"), list(itertools.product(groups()["position"], ["tied", "untied"]))
)
def test_a_stop_in_the_middle_changes_no_bit(tmp_path: Path, position: str, output: str) -> None:
    words = (f"position={position}", f"output={output}")
    ended, whole = train(tmp_path / "whole", *words, workers=0)
    assert ended is Ended.completed
    workers = {"tied": 0, "untied": 2}[output]
    ended, half = train(tmp_path / "cut", *words, workers=workers, stop=STOP)
    assert ended is Ended.preempted
    ended, resumed = train(tmp_path / "cut", *words, workers=workers, resume=True)
    assert ended is Ended.completed
    assert set(resumed) == set(whole)
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)
    assert not all(torch.equal(half[name], whole[name]) for name in whole)
