"""Jobs in worker processes: several at once, and a dead worker is survived."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.train.runtime import usable_cores
from tests.commands import tiny
from tests.pausing import wait_until

Said = pytest.CaptureFixture[str]
PATIENCE_S = 100.0
LONG = (*tiny.WORDS, "trainer.max_steps=100000", "trainer.checkpoint_every_steps=20")
JOBLIB = ("hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "-m")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for two jobs of one thread, wherever the tests run."""
    monkeypatch.setattr("andrea_exp.sweep.launcher.joblib.usable_cores", lambda: 2)


def statuses(place: Path) -> list[Status]:
    return [RunDirectory(run).shown_status() for run in tiny.runs(place, "s")]


@pytest.mark.slow
@pytest.mark.usefixtures("two_cores")
def test_the_jobs_are_those_of_one_process(place: Path, capsys: Said) -> None:
    words = [*tiny.WORDS, "seed=0,1,2", "-m"]
    assert main([*words, "name=s", *JOBLIB]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        [f"[{number}/3]", "completed"] for number in (1, 2, 3)
    ]
    assert main([*words, "name=t"]) == 0
    here, there = tiny.runs(place, "t"), tiny.runs(place, "s")
    assert [run.name for run in here] == [run.name for run in there]
    assert [tiny.weights(run) for run in here] == [tiny.weights(run) for run in there]


def test_too_many_threads_are_refused(place: Path, capsys: Said) -> None:
    words = ("name=s", "hydra/launcher=joblib", "hydra.launcher.n_jobs=50", "seed=0,1,2", "-m")
    assert main([*tiny.WORDS, *words, "runtime.threads=3"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "hydra.launcher.n_jobs=50 at once, each with 3 threads" in line
    assert f"more than the {usable_cores()} cores" in line
    assert tiny.files(place) == set()


def test_not_to_wait_is_refused(place: Path, capsys: Said) -> None:
    assert main([*tiny.WORDS, "seed=0,1", "sweep.wait=false", *JOBLIB]) == 2
    assert "sweep.wait=false" in capsys.readouterr().err
    assert tiny.files(place) == set()


@pytest.mark.slow
def test_a_killed_worker_takes_no_job_along(place: Path) -> None:
    process = tiny.start(place, *LONG, "trainer.max_steps=400", "name=s", "seed=0,1,2", *JOBLIB)
    run = _first_holder(place, process)
    os.kill(run, signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, (out, err)
    assert "a worker was killed" in out
    assert statuses(place) == [Status.completed] * 3


@pytest.mark.slow
def test_a_stopped_sweep_leaves_checkpoints_and_no_process(place: Path) -> None:
    process = tiny.start(place, *LONG, "name=s", "seed=0,1,2", *JOBLIB)
    holder = _first_holder(place, process)
    saved = "outputs/s/*/checkpoints/last.ckpt"
    wait_until(lambda: len(list(place.glob(saved))) == 2, process=process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, (out, err)
    assert sorted(status.name for status in statuses(place)) == ["pending", *["preempted"] * 2]
    with pytest.raises(ProcessLookupError):
        os.kill(holder, 0)


def _first_holder(place: Path, process: "subprocess.Popen[str]") -> int:
    """The process that trains the first job, once two are being trained."""
    found: list[int] = []

    def two_at_work() -> bool:
        found[:] = [
            holder
            for run in (tiny.runs(place, "s") if (place / "outputs" / "s").is_dir() else [])
            if (holder := RunDirectory(run).holder()) is not None and (run / "checkpoints").is_dir()
        ]
        return len(found) == 2

    wait_until(two_at_work, process=process)
    return found[0]
