"""Runs that are watched on a server while they train."""

import signal
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml

from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from andrea_exp.record.metrics import read_metrics
from tests.commands import tiny
from tests.pausing import wait_until
from tests.wandb_server import KEY, WandbServer, serving

pytestmark = pytest.mark.slow

WORDS = (*tiny.WORDS, "logger.mode=online", "trainer.log_every_steps=1")
PATIENCE_S = 100


@pytest.fixture
def server(place: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[WandbServer]:
    """A server of W&B where the user has an account."""
    with serving() as server:
        (place / "home").mkdir()
        monkeypatch.setenv("HOME", str(place / "home"))
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        monkeypatch.setenv("WANDB_BASE_URL", server.url)
        yield server


def test_a_sweep_is_one_group_and_its_diverged_job_has_failed(
    server: WandbServer, place: Path
) -> None:
    rates = "optimizer.lr=0.003,1e30"
    with tiny.start(place, "-m", "name=rates", *WORDS, rates) as process:
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, err
    assert "wandb" not in err
    runs = tiny.runs(place, "rates")
    assert {tiny.manifest(run)["wandb"]["id"] for run in runs} == set(server.runs)
    for run in runs:
        manifest = tiny.manifest(run)
        shown = server.runs[manifest["wandb"]["id"]]
        assert (shown.about["groupName"], shown.about["displayName"]) == ("rates", run.name)
        assert shown.exit_codes == [int(manifest["status"] == "nan")]
        rows = [row["tokens"] for row in read_metrics(run / "metrics.jsonl")]
        assert [row["tokens"] for row in shown.rows() if "tokens" in row] == rows
        frozen = yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))
        assert {key: shown.config[key] for key in frozen["config"]} == frozen["config"]
    assert {tiny.manifest(run)["status"] for run in runs} == {"completed", "nan"}


def test_an_interrupted_run_goes_on_under_its_id(server: WandbServer, place: Path) -> None:
    run = freeze_single(request([*WORDS, "trainer.max_steps=400"])).path
    for status in (130, 0):
        with tiny.start(place, str(run), module="andrea_exp.job") as process:
            if status == 130:
                wait_until((run / "metrics.jsonl").exists, process=process)
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == status, err
    ((number, shown),) = server.runs.items()
    assert tiny.manifest(run)["wandb"]["id"] == number
    assert shown.exit_codes == [1, 0]
    assert [row["_step"] for row in shown.rows() if "tokens" in row] == list(range(1, 401))
    contents = [path.read_bytes() for path in run.rglob("*") if path.is_file()]
    assert not any(KEY.encode() in content for content in contents)
