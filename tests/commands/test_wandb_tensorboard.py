"""A run that is shown by W&B and TensorBoard together, read back from the files of both."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.__main__ import main
from tests.commands import tiny
from tests.commands.test_wandb import read_back

WORDS = [word for word in tiny.WORDS if not word.startswith("logger")]
READER = "tensorboard.backend.event_processing.event_accumulator"


@pytest.mark.slow
def test_both_loggers_keep_the_curves_and_final_losses_of_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("WANDB")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    words = [*WORDS, "logger=wandb_tensorboard", "trainer.log_every_steps=1"]
    with tiny.start(tmp_path, *words) as process:
        out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (0, ""), out
    run = tiny.only_run(tmp_path)
    identity = tiny.manifest(run)["wandb"]
    assert identity["mode"] == "offline"
    (file,) = (run / identity["directory"]).glob("*.wandb")
    shown = read_back(file)
    assert (shown["state"], shown["run_id"]) == ("finished", identity["id"])
    reader: Any = importlib.import_module(READER)
    events = reader.EventAccumulator(str(run / "tensorboard")).Reload()
    for column in ("train_loss_nats", "lr"):
        rows = [(row["step"], row[column]) for row in tiny.metrics(run) if column in row]
        curve = [(each.step, each.value) for each in events.Scalars(column)]
        assert len(curve) == 4
        assert curve == [(step, pytest.approx(value, rel=1e-6)) for step, value in rows]
    for name, value in tiny.results(run)["final"].items():
        if value is not None:
            (final,) = events.Scalars(f"final/{name}")
            assert (final.step, final.value) == (4, pytest.approx(value, rel=1e-6))
    (table,) = events.Tensors("lengths/text_summary")
    lines = table.tensor_proto.string_val[0].decode().splitlines()
    assert len(lines) == len(tiny.results(run)["lengths"]) + 2
    (picture,) = events.Images("loss_by_length_block")
    assert picture.width == shown["summary"]["loss_by_length_block"]["width"]


@pytest.mark.parametrize("option", ["tensorboard", "wandb_tensorboard"])
def test_a_missing_tensorboard_is_refused_before_anything_is_written(
    option: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    assert main([*WORDS, f"logger={option}"]) == 2
    assert "pip install 'andrea_exp[tensorboard]'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
