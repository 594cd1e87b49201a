"""A training that was stopped and resumed is the uninterrupted one, bit for bit."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from andrea_exp.component import Refusal
from andrea_exp.train.checkpoint import Checkpoint, write
from andrea_exp.train.outcome import Ended
from tests import options
from tests.train import toy

WORKERS = 2


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> toy.Trained:
    """Uninterrupted, without workers."""
    return toy.train(tmp_path_factory.mktemp("whole"))


def is_same(resumed: toy.Trained, whole: toy.Trained) -> bool:
    """Whether weights and the rows that a resumed run still had to write are equal."""
    rows = resumed.timeless()
    same_rows = rows == whole.timeless()[len(whole.rows) - len(rows) :]
    ours, theirs = resumed.weights(), whole.weights()
    return same_rows and all(torch.equal(ours[name], theirs[name]) for name in theirs)


def stop_after_row(step: int, number: int) -> toy.Sink:
    """A sink that sends this process a signal once the row of `step` is written."""

    def sink(row: toy.Row) -> None:
        if row["step"] == step:
            signal.raise_signal(number)

    return sink


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "ended"),
    [(signal.SIGTERM, Ended.preempted), (signal.SIGINT, Ended.interrupted)],
)
def test_a_signal_to_the_whole_process_group_costs_nothing(
    tmp_path: Path, whole: toy.Trained, *, number: signal.Signals, ended: Ended
):
    with subprocess.Popen(
        [sys.executable, "-m", "tests.train.toy", str(tmp_path), str(WORKERS)],
        cwd=options.PACKAGE.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "paused\n"
        os.killpg(process.pid, number)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.read() == f"{ended.name}\n"
    assert process.returncode == 0
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert (saved["step"], saved["batch"]) == (5, 10)
    assert saved["step"] % toy.LOG
    assert saved["step"] % toy.SAVE
    resumed = toy.train(tmp_path, machine=toy.runtime(workers=WORKERS), resume=True)
    assert resumed.outcome.resumed_from == 5
    assert [row["step"] for row in resumed.rows] == [8, 12]
    assert is_same(resumed, whole)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
def test_a_schedulers_signals_preempt(tmp_path: Path, whole: toy.Trained, number: signal.Signals):
    stopped = toy.train(tmp_path, sink=stop_after_row(4, number))
    assert (stopped.outcome.ended, stopped.outcome.steps) == (Ended.preempted, 5)
    assert is_same(toy.train(tmp_path, resume=True), whole)


def test_under_slurm_the_signals_are_still_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for key, value in {"NTASKS": "4", "JOB_ID": "7", "JOB_NAME": "job", "PROCID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{key}", value)
    stopped = toy.train(tmp_path, sink=stop_after_row(4, signal.SIGUSR1))
    assert (stopped.outcome.ended, stopped.outcome.steps) == (Ended.preempted, 5)


def test_stops_after_every_second_step_add_up_to_the_whole(tmp_path: Path):
    config = toy.trainer(log_every_steps=1)

    def part(*, resume: bool) -> toy.Trained:
        def sink(_row: toy.Row) -> None:
            signal.raise_signal(signal.SIGTERM)

        return toy.train(tmp_path / "parts", config=config, resume=resume, sink=sink)

    parts = [part(resume=count > 0) for count in range(toy.STEPS // 2)]
    whole = toy.train(tmp_path / "whole", config=config)
    assert [part.outcome.steps for part in parts] == [2, 4, 6, 8, 10, 12]
    assert [row for part in parts for row in part.timeless()] == whole.timeless()
    assert is_same(parts[-1], whole)


def test_a_signal_in_the_last_step_is_not_lost(tmp_path: Path, whole: toy.Trained):
    def sink(row: toy.Row) -> None:
        if row["step"] == 11:
            signal.raise_signal(signal.SIGTERM)

    stopped = toy.train(tmp_path, config=toy.trainer(log_every_steps=1), sink=sink)
    assert (stopped.outcome.ended, stopped.outcome.steps) == (Ended.preempted, 12)
    resumed = toy.train(tmp_path, config=toy.trainer(log_every_steps=1), resume=True)
    assert (resumed.outcome.ended, resumed.rows) == (Ended.completed, [])
    assert resumed.outcome.train_loss_nats == stopped.outcome.train_loss_nats
    assert is_same(resumed, whole)


def test_a_signal_after_the_last_step_is_not_lost(tmp_path: Path, whole: toy.Trained):
    stopped = toy.train(tmp_path, sink=stop_after_row(toy.STEPS, signal.SIGTERM))
    assert (stopped.outcome.ended, stopped.outcome.steps) == (Ended.preempted, toy.STEPS)
    resumed = toy.train(tmp_path, resume=True)
    assert (resumed.outcome.ended, resumed.rows) == (Ended.completed, [])
    assert is_same(resumed, whole)


def test_a_second_interrupt_does_not_wait(tmp_path: Path):
    def sink(_row: toy.Row) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        toy.train(tmp_path, sink=sink)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_error_in_the_loop_leaves_the_handlers_as_they_were(tmp_path: Path):
    def sink(_row: toy.Row) -> None:
        raise ZeroDivisionError

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ZeroDivisionError):
        toy.train(tmp_path, sink=sink)
    assert signal.getsignal(signal.SIGTERM) is before


def without_random_state(saved: dict[str, Any]) -> None:
    saved["cpu_random"] = [torch.Generator().manual_seed(5).get_state()]


def without_sums(saved: dict[str, Any]) -> None:
    saved["meter"] |= {"loss_nats": 0.0}


def without_moments(saved: dict[str, Any]) -> None:
    saved["optimizer"]["state"] = {}


def without_weights(saved: dict[str, Any]) -> None:
    saved["model"] = toy.decoder().state_dict()


def one_step_off(saved: dict[str, Any]) -> None:
    saved["step"] += 1


def as_written(_saved: dict[str, Any]) -> None:
    return


@pytest.mark.parametrize(
    ("spoil", "same"),
    [
        (as_written, True),
        (without_random_state, False),
        (without_sums, False),
        (without_moments, False),
        (without_weights, False),
        (one_step_off, False),
    ],
)
def test_each_part_of_a_checkpoint_matters(
    tmp_path: Path, whole: toy.Trained, *, spoil: Callable[[dict[str, Any]], None], same: bool
):
    toy.train(tmp_path, sink=stop_after_row(4, signal.SIGTERM))
    saved = torch.load(tmp_path / "last.ckpt", weights_only=True)
    spoil(saved)
    write(Checkpoint(**saved), folder=tmp_path)
    assert is_same(toy.train(tmp_path, resume=True), whole) is same


def test_a_truncated_checkpoint_is_skipped_for_the_one_before(
    tmp_path: Path, whole: toy.Trained, caplog: pytest.LogCaptureFixture
):
    toy.train(tmp_path, sink=stop_after_row(4, signal.SIGTERM))
    last = tmp_path / "last.ckpt"
    last.write_bytes(last.read_bytes()[: last.stat().st_size // 2])
    resumed = toy.train(tmp_path, resume=True)
    assert resumed.outcome.resumed_from == 3
    assert "last.ckpt cannot be read and is skipped" in caplog.text
    assert is_same(resumed, whole)


def test_with_no_readable_checkpoint_it_starts_from_the_beginning(
    tmp_path: Path, whole: toy.Trained, caplog: pytest.LogCaptureFixture
):
    for name in ("last.ckpt", "previous.ckpt"):
        (tmp_path / name).write_bytes(b"PK\x03\x04 no checkpoint")
    resumed = toy.train(tmp_path, resume=True)
    assert resumed.outcome.resumed_from == 0
    assert "starts from the beginning" in caplog.text
    assert is_same(resumed, whole)


@pytest.mark.parametrize(
    ("stamp", "named"),
    [
        ({"recipe": "abc", "threads": 2}, "threads 1, and now threads is 2"),
        ({"recipe": "abd", "threads": 1}, "recipe abc, and now recipe is abd"),
        ({"recipe": "abc"}, "threads 1, and now threads is None"),
    ],
)
def test_another_stamp_is_refused_with_both_values(
    tmp_path: Path, stamp: dict[str, str | int], named: str
):
    toy.train(tmp_path)
    with pytest.raises(Refusal, match=named):
        toy.train(tmp_path, stamp=stamp, resume=True)


def test_without_resume_an_earlier_training_is_forgotten(tmp_path: Path, whole: toy.Trained):
    toy.train(tmp_path, seed=8)
    again = toy.train(tmp_path)
    assert again.outcome.resumed_from == 0
    assert is_same(again, whole)


def test_elapsed_time_goes_on_across_a_resume(tmp_path: Path):
    stopped = toy.train(tmp_path, sink=stop_after_row(4, signal.SIGTERM))
    resumed = toy.train(tmp_path, resume=True)
    times = [row["elapsed_s"] for row in stopped.rows + resumed.rows]
    assert times == sorted(times)
