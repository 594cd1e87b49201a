"""Probes along a training: in the rows that are due, and in nothing else."""

import signal
import time
from pathlib import Path

import pytest
import torch

from andrea_exp.evaluate.probe import Probe
from tests.train import toy
from tests.train.test_ranks import Part, part_of, same_bits, together
from tests.train.test_resume import is_same, stop_after_row

COLUMNS = {
    "adjacent_cosine",
    "centred_adjacent_cosine",
    "d2_over_d1",
    "effective_rank",
    "val_loss_nats",
}
EVERY = 2 * toy.LOG


def without_probes(rows: list[toy.Row]) -> list[toy.Row]:
    return [{name: row[name] for name in row if name not in COLUMNS} for row in rows]


def probed(rows: list[toy.Row]) -> list[float]:
    """The steps whose rows have the columns of a probe."""
    assert all(not COLUMNS & {*row} or {*row} >= COLUMNS for row in rows)
    return [row["step"] for row in rows if {*row} >= COLUMNS]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> toy.Trained:
    return toy.train(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> toy.Trained:
    return toy.train(tmp_path_factory.mktemp("whole"), probe_every_steps=toy.LOG)


def test_the_rows_that_are_due_have_the_columns(tmp_path: Path, whole: toy.Trained):
    assert probed(whole.rows) == [4, 8, 12]
    assert probed(toy.train(tmp_path, probe_every_steps=EVERY).rows) == [8]


def test_a_training_with_probes_has_the_bits_of_one_without(plain: toy.Trained, whole: toy.Trained):
    assert probed(plain.rows) == []
    assert without_probes(whole.timeless()) == plain.timeless()
    for name, value in plain.weights().items():
        assert torch.equal(whole.weights()[name], value)


@pytest.mark.parametrize("harm", ["draws", "leaves the mode"])
def test_saboteur_a_probe_that_touches_the_training_is_found(
    tmp_path: Path, plain: toy.Trained, monkeypatch: pytest.MonkeyPatch, harm: str
):
    honest = Probe.__call__

    def careless(probe: Probe) -> dict[str, float]:
        found = honest(probe)
        if harm == "draws":
            torch.rand(1)
        else:
            model.eval()
        return found

    model = toy.decoder()
    monkeypatch.setattr(Probe, "__call__", careless)
    trained = toy.train(tmp_path, model=model, probe_every_steps=toy.LOG)
    assert without_probes(trained.timeless()) != plain.timeless()


def test_a_resumed_training_has_the_probes_of_the_uninterrupted_one(
    tmp_path: Path, whole: toy.Trained
):
    toy.train(tmp_path, sink=stop_after_row(4, signal.SIGTERM), probe_every_steps=toy.LOG)
    resumed = toy.train(tmp_path, resume=True, probe_every_steps=toy.LOG)
    assert probed(resumed.rows) == [8, 12]
    assert is_same(resumed, whole)


def test_of_several_processes_the_first_alone_probes(tmp_path: Path):
    parts: list[Part] = together(tmp_path, part_of(tmp_path / "probed", probe_every_steps=toy.LOG))
    plain: list[Part] = together(tmp_path / "again", part_of(tmp_path / "plain"))
    assert [probed(part.rows) for part in parts] == [[4, 8, 12], []]
    assert all(same_bits(part, plain[0]) for part in parts)
    assert without_probes(parts[0].rows) == plain[0].rows


def test_the_time_of_probes_is_no_time_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def slow(_probe: Probe) -> dict[str, float]:
        time.sleep(0.7)
        return {}

    monkeypatch.setattr(Probe, "__call__", slow)
    begun = time.perf_counter()
    trained = toy.train(tmp_path, probe_every_steps=toy.LOG)
    took = time.perf_counter() - begun
    assert took > 3 * 0.7
    assert trained.rows[-1]["elapsed_s"] < took - 3 * 0.7 + 0.1


def test_a_step_that_was_not_taken_is_not_probed(tmp_path: Path):
    config = toy.trainer(clip_norm=None, log_every_steps=1)
    rule = toy.optimizer("sgd", lr=1e30)
    trained = toy.train(tmp_path, config=config, rule=rule, probe_every_steps=1)
    failed = trained.outcome.nonfinite_step
    assert failed is not None
    assert [row["step"] for row in trained.rows][-1] == failed
    assert failed not in probed(trained.rows)
