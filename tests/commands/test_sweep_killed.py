"""A sweep whose process is killed, again and again, loses nothing and does nothing twice."""

import json
import random
import signal
from pathlib import Path

import pytest

from tests.commands import tiny
from tests.pausing import wait_until

JOBS, STEPS, SAVE, KILLS = 12, 40, 10, 5
WORDS = (
    *tiny.WORDS,
    f"trainer.max_steps={STEPS}",
    f"trainer.checkpoint_every_steps={SAVE}",
    "trainer.log_every_steps=1",
    "model.dropout=0.1",
)
GRID = ("name=k", "position=learned,rope", "output=tied,untied", "seed=0,1,2", "-m")
PATIENCE_S = 200.0


def lines(place: Path) -> int:
    """How many steps all jobs have logged; a job logs each step."""
    files = place.glob("outputs/k/*/metrics.jsonl")
    return sum(file.read_bytes().count(b"\n") for file in files)


@pytest.mark.slow
def test_a_sweep_killed_five_times_ends_as_if_undisturbed(place: Path) -> None:
    draw = random.Random(0)
    goals = sorted(draw.sample(range(1, JOBS * STEPS - STEPS), KILLS))
    finished: dict[Path, int] = {}
    for goal in goals:
        process = tiny.start(place, *WORDS, *GRID)
        wait_until(lambda goal=goal: lines(place) >= goal, process=process, every_s=0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert all(_written(run) == when for run, when in finished.items()), "trained twice"
        finished = {
            run: _written(run)
            for run in tiny.runs(place, "k")
            if tiny.manifest(run)["status"] == "completed"
        }
        assert not any(_cut(file) for file in place.glob("outputs/k/*/metrics.jsonl"))
    process = tiny.start(place, *WORDS, *GRID)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, (out, err)
    runs = tiny.runs(place, "k")
    assert len(runs) == JOBS
    for run in runs:
        chosen = tiny.manifest(run)["overrides"]
        words = [word for word in chosen if word.startswith(("position=", "output=", "seed="))]
        alone = tiny.train(*WORDS, *words)
        assert tiny.weights(run) == tiny.weights(alone), words
        assert tiny.metrics(run) == tiny.metrics(alone), words


def _written(run: Path) -> int:
    return (run / "model.safetensors").stat().st_mtime_ns


def _cut(file: Path) -> bool:
    """Whether a line before the last is not whole."""
    whole = file.read_text(encoding="utf-8").splitlines()[:-1]
    return any(not isinstance(json.loads(line), dict) for line in whole)
