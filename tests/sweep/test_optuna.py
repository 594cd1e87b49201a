"""`hydra/sweeper=optuna` searches for the smallest validation loss, and its study goes on."""

import re
from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from tests.commands import tiny

pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="the extra `optuna`")
import optuna

pytestmark = pytest.mark.filterwarnings("ignore")  # optuna 2.10 is of 2021
STORAGE = "sqlite:///study.db"
SEARCH = (
    *tiny.WORDS,
    "name=search",
    "trainer.max_steps=1",
    "hydra/sweeper=optuna",
    f"hydra.sweeper.storage={STORAGE}",
    "hydra.sweeper.study_name=lr",
    "hydra.sweeper.n_trials=3",
    "hydra.sweeper.n_jobs=1",
    "seed=range(0,9)",
    "-m",
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def trials() -> list[optuna.trial.FrozenTrial]:
    return optuna.load_study(study_name="lr", storage=STORAGE).get_trials()


@pytest.mark.slow
def test_each_trial_is_a_run_and_the_same_command_adds_more(place: Path) -> None:
    assert main([*SEARCH, "optimizer.lr=choice(1e-3,1e-2)"]) == 0
    first = trials()
    assert len(first) == 3
    losses = {tiny.results(run)["final"]["val_loss_nats"] for run in tiny.runs(place, "search")}
    assert {trial.value for trial in first} == losses
    for run in tiny.runs(place, "search"):
        assert re.fullmatch(r"seed=\d,optimizer\.lr=0\.\d+-[0-9a-f]{12}", run.name)
    assert main([*SEARCH, "optimizer.lr=choice(1e-3,1e-2)"]) == 0
    assert len(trials()) == 6
    assert [trial.value for trial in trials()[:3]] == [trial.value for trial in first]


@pytest.mark.slow
def test_a_trial_that_fails_stops_no_other(place: Path) -> None:
    assert main([*SEARCH, "trainer.max_steps=4", "optimizer.lr=choice(1e30)"]) == 1
    assert [trial.state.name for trial in trials()] == ["FAIL"] * 3
    statuses = {tiny.manifest(run)["status"] for run in tiny.runs(place, "search")}
    assert statuses == {"nan"}
