"""A run with the default logger, read back from the files that W&B wrote offline."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands import tiny

WORDS = [word for word in tiny.WORDS if not word.startswith("logger")]


def read_back(file: Path) -> dict[str, Any]:
    """What `wandb` itself says of a run."""
    binary = Path(sys.executable).with_name("wandb")
    command = [str(binary), "leet", "inspect", "--summary", "--json", str(file)]
    # It keeps a log in the folder `wandb` of the current one.
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=file.parent)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_default_logger_keeps_configuration_curves_and_final_losses_offline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WANDB_MODE", "WANDB_DIR", "WANDB_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with tiny.start(tmp_path, *WORDS, "trainer.log_every_steps=1") as process:
        out, err = process.communicate(timeout=100)
    assert (process.returncode, err) == (0, ""), out
    run = tiny.only_run(tmp_path)
    identity = tiny.manifest(run)["wandb"]
    assert (identity["mode"], (run / identity["directory"]).parent) == ("offline", run / "wandb")
    (file,) = (run / identity["directory"]).glob("*.wandb")
    shown = read_back(file)
    assert (shown["state"], shown["run_id"]) == ("finished", identity["id"])
    assert shown["name"] == run.name
    frozen = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
    assert shown["config"] == frozen["config"]
    final = tiny.results(run)["final"]
    for loss in ("train_loss_nats", "val_loss_nats", "uniform_nats"):
        assert shown["summary"][loss] == pytest.approx(final[loss], rel=1e-6)
    assert shown["summary"]["_step"] == 4
    rows = len(tiny.results(run)["lengths"])
    assert shown["summary"]["lengths"]["nrows"] == rows
    assert shown["summary"]["smoothness"]["nrows"] == 6
    for picture in ("loss_by_length_block", "loss_by_length_sliding"):
        assert shown["summary"][picture]["width"] > 100
    assert shown["summary"]["centred_cosine_by_lag_trained"]["height"] > 100
