"""`runtime=ddp` from the command line: one run, whatever becomes of its processes."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from andrea_exp import job
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from andrea_exp.record.directory import RunDirectory
from tests import options
from tests.commands import tiny
from tests.pausing import wait_until

TWO = ("runtime=ddp", *tiny.WORDS)
SAVE = 5
LONG = (
    *TWO,
    "trainer.max_steps=1000000",
    "trainer.log_every_steps=1",
    f"trainer.checkpoint_every_steps={SAVE}",
)
PATIENCE_S = 200.0


def others(parent: int) -> list[int]:
    """The further processes of a training that this process has started."""
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
    )
    lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, of, name in lines if int(of) == parent and "andrea_exp.rank" in name]


def wait_for_step(run: Path, step: int) -> None:
    """Wait until a run has logged a step."""
    wait_until(lambda: step in [row["step"] for row in rows(run)])


def rows(run: Path) -> list[dict[str, Any]]:
    """What it has logged so far."""
    return tiny.metrics(run) if (run / "metrics.jsonl").exists() else []


def kill_the_other(run: Path) -> None:
    """Kill the one further process of this one's training, in its middle."""
    wait_for_step(run, SAVE + 1)
    (other,) = others(os.getpid())
    os.kill(other, signal.SIGKILL)


@pytest.mark.slow
def test_two_processes_are_one_run_like_any_other(place: Path, finished: Path) -> None:
    assert main(list(TWO)) == 0
    run = tiny.only_run(place)
    assert tiny.files(run) == tiny.files(finished)
    assert tiny.manifest(run)["status"] == "completed"
    for row, expected in zip(tiny.metrics(run), tiny.metrics(finished), strict=True):
        assert row == pytest.approx(expected, rel=1e-5)
    loss = tiny.results(run)["final"]["val_loss_nats"]
    assert loss == pytest.approx(tiny.results(finished)["final"]["val_loss_nats"], rel=1e-5)
    assert main([*TWO, "name=swept", "seed=0", "-m"]) == 0
    assert tiny.weights(tiny.only_run(place, "swept")) == tiny.weights(run)


@pytest.mark.slow
@pytest.mark.usefixtures("place")
def test_a_killed_process_fails_the_run_and_a_signal_to_all_preempts_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = freeze_single(request(LONG)).path
    thread = threading.Thread(target=kill_the_other, args=(run,))
    thread.start()
    assert job.main([str(run)]) == 1
    thread.join()
    assert others(os.getpid()) == []
    failed = tiny.manifest(run)
    message = "rank 1 of the training was ended by SIGKILL"
    assert (failed["status"], failed["failure"]["message"]) == ("failed", message)
    assert message in capsys.readouterr().err
    assert saved_step(run) >= SAVE

    steps = len(rows(run))
    with subprocess.Popen(
        [sys.executable, "-m", "andrea_exp.job", str(run)],
        env={**os.environ, "PYTHONPATH": str(options.PACKAGE.parent)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_for_step(run, steps + 2)
            os.killpg(process.pid, signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 75, said
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert tiny.manifest(run)["status"] == "preempted"
    assert not RunDirectory(run).is_locked()
    done = saved_step(run)
    assert done > steps
    assert [row["step"] for row in rows(run)] == [*range(1, done + 1)]


def saved_step(run: Path) -> int:
    """The step of its last checkpoint."""
    return torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["step"]


def test_a_further_process_ends_with_the_first() -> None:
    code = "import time\nfrom andrea_exp import rank\nrank.end_with_the_first()\ntime.sleep(600)"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(options.PACKAGE.parent)},
        stdin=subprocess.PIPE,
    ) as other:
        assert other.stdin is not None
        other.stdin.close()
        assert other.wait(PATIENCE_S) == 1
