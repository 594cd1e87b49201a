"""Jobs on a Ray cluster: here the one that Ray starts on this machine."""

import socket
from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from tests.commands import tiny

pytest.importorskip("ray", reason="the extra `ray`")

Said = pytest.CaptureFixture[str]
PATIENCE_S = 200.0
RAY = ("name=s", "hydra/launcher=ray", "-m")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_jobs_are_those_of_one_process(place: Path) -> None:
    words = [*tiny.WORDS, "optimizer.lr=1e-3,1e30,2e-3"]
    process = tiny.start(place, *words, *RAY)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, (out, err)
    statuses = {run: tiny.manifest(run)["status"] for run in tiny.runs(place, "s")}
    assert sorted(statuses.values()) == ["completed", "completed", "nan"]
    assert main([*words, "name=t", "-m"]) == 1
    for run, status in statuses.items():
        if status == "completed":
            assert tiny.weights(run) == tiny.weights(place / "outputs" / "t" / run.name)


def test_a_head_that_does_not_answer_is_refused_at_once(place: Path, capsys: Said) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"hydra.launcher.address=127.0.0.1:{free.getsockname()[1]}"
        assert main([*tiny.WORDS, "seed=0,1", address, *RAY]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert address in line
    assert "ray start --head" in line
    assert tiny.files(place) == set()


def test_more_threads_than_cores_of_a_job_are_refused(place: Path, capsys: Said) -> None:
    assert main([*tiny.WORDS, "seed=0,1", "runtime.threads=2", *RAY]) == 2
    assert "hydra.launcher.num_cpus=1" in capsys.readouterr().err
    assert tiny.files(place) == set()
