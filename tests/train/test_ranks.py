"""Several processes train what one trains, stop together and go on together."""

import multiprocessing
import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from andrea_exp.train.config import Device
from andrea_exp.train.outcome import Ended
from andrea_exp.train.ranks import NoAnswerError, Ranks, joined
from tests.train import toy

Work = Callable[[Ranks], Any]


def together(place: Path, work: Work, *, count: int = 2) -> list[Any]:
    """What each of `count` processes returns, or the error that it raises."""
    place.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("fork")  # torch need not be imported again
    answers: list[Connection] = []
    for rank in range(count):
        ours, theirs = context.Pipe(duplex=False)
        context.Process(target=_be, args=(place, rank, count, work, theirs), daemon=True).start()
        theirs.close()
        answers.append(ours)
    return [pickle.loads(answer.recv_bytes()) for answer in answers]  # noqa: S301 - our own


def _be(place: Path, rank: int, count: int, work: Work, answer: Connection) -> None:
    try:
        with joined(place, rank=rank, count=count, device=Device.cpu) as ranks:
            result = work(ranks)
    except Exception as error:  # noqa: BLE001 - the test looks at it
        result = error
    answer.send_bytes(pickle.dumps(result))


class Part(NamedTuple):
    """What is left of a training in one of its processes."""

    ended: Ended
    steps: int
    rows: list[toy.Row]
    weights: dict[str, Tensor]


def part_of(folder: Path, *, dropout: float = 0.1, **choices: Any) -> Callable[[Ranks], Part]:
    """Train in a folder, as one of the processes."""

    def work(ranks: Ranks) -> Part:
        trained = toy.train(
            folder,
            model=toy.decoder(dropout=dropout),
            machine=toy.runtime(devices=ranks.count),
            ranks=ranks,
            **choices,
        )
        outcome = trained.outcome
        return Part(outcome.ended, outcome.steps, trained.timeless(), trained.weights())

    return work


def exact(folder: Path) -> Callable[[Ranks], Part]:
    """Targets of unequal weight, two batches to a step, clipped gradients, nothing random."""
    config = toy.trainer(clip_norm=0.2)
    return part_of(folder, dropout=0.0, data=toy.Weighted(), config=config)


def assert_equal_but_for_rounding(part: Part, alone: Part) -> None:
    for row, expected in zip(part.rows, alone.rows, strict=True):
        assert row == pytest.approx(expected, rel=1e-5)
    assert part.weights.keys() == alone.weights.keys()
    for name, value in alone.weights.items():
        torch.testing.assert_close(part.weights[name], value, rtol=1e-4, atol=1e-6)


def same_bits(part: Part, other: Part) -> bool:
    return all(torch.equal(part.weights[name], value) for name, value in other.weights.items())


@pytest.mark.parametrize("count", [2, 3])
def test_their_batch_is_that_of_one_process(tmp_path: Path, count: int) -> None:
    alone = exact(tmp_path / "alone")(Ranks.alone())
    first, *others = together(tmp_path, exact(tmp_path / "run"), count=count)
    assert_equal_but_for_rounding(first, alone)
    assert [row["clipped"] for row in first.rows] == [1.0, 1.0, 1.0]
    assert all(same_bits(other, first) and other.rows == first.rows for other in others)


def test_saboteur_the_mean_of_their_means_is_another_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = exact(tmp_path / "alone")(Ranks.alone())
    add = Ranks.add

    def keep_weights(ranks: Ranks, tensors: list[Tensor]) -> None:
        if len(tensors) == 1:
            tensors[0].mul_(ranks.count)
        else:
            add(ranks, tensors)

    monkeypatch.setattr(Ranks, "add", keep_weights)
    first, _ = together(tmp_path, exact(tmp_path / "run"))
    with pytest.raises(AssertionError):
        assert_equal_but_for_rounding(first, alone)


def stopping_at(step: int) -> toy.Sink:
    """A sink that asks its process to stop; each process has one."""

    def sink(row: toy.Row) -> None:
        if row["step"] == step:
            signal.raise_signal(signal.SIGTERM)

    return sink


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Part:
    """Two processes that nobody stopped, as the first sees them."""
    place = tmp_path_factory.mktemp("whole")
    first, second = together(place, part_of(place / "run"))
    assert same_bits(first, second)
    return first


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoints of two processes that were asked to stop after the row of step 4."""
    place = tmp_path_factory.mktemp("stopped")
    work = part_of(place / "run", sink=stopping_at(toy.LOG))
    assert [part[:2] for part in together(place, work)] == [(Ended.preempted, 5)] * 2
    return place / "run"


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return shutil.copytree(stopped_once, tmp_path / "run")


def is_whole(stopped: Path, whole: Part) -> bool:
    """Whether a training goes on to the end of the uninterrupted one."""
    parts = together(stopped.parent / "meeting", part_of(stopped, resume=True))
    assert [part[:2] for part in parts] == [(Ended.completed, toy.STEPS)] * 2
    return parts[0].rows == whole.rows[1:] and all(same_bits(part, whole) for part in parts)


def test_they_stop_after_the_same_step_and_go_on_bit_for_bit(stopped: Path, whole: Part) -> None:
    assert is_whole(stopped, whole)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_random_state_of_each_matters(stopped: Path, whole: Part, rank: int) -> None:
    last = stopped / "last.ckpt"
    saved = torch.load(last, weights_only=True)
    assert not torch.equal(*saved["cpu_random"])
    saved["cpu_random"][rank] = torch.Generator().manual_seed(5).get_state()
    torch.save(saved, last)
    assert not is_whole(stopped, whole)


def test_the_first_alone_decides_and_writes(tmp_path: Path) -> None:
    def work(ranks: Ranks) -> Part:
        folder = tmp_path / str(ranks.rank)
        sink = None if ranks.is_first else stopping_at(toy.LOG)
        return part_of(folder, sink=sink)(ranks)

    parts = together(tmp_path / "meeting", work)
    assert [part.steps for part in parts] == [toy.STEPS] * 2
    assert (tmp_path / "0" / "last.ckpt").exists()
    assert not (tmp_path / "1").exists()


def test_a_loss_that_is_not_finite_stops_all_at_one_step(tmp_path: Path) -> None:
    config = toy.trainer(clip_norm=None)
    work = part_of(tmp_path / "run", config=config, rule=toy.optimizer("sgd", lr=1e30))
    first, second = together(tmp_path, work)
    assert first.ended is second.ended is Ended.nan
    assert first.steps == second.steps < toy.STEPS


def test_when_one_fails_the_other_hears_of_it(tmp_path: Path) -> None:
    def fail(_row: toy.Row) -> None:
        raise ZeroDivisionError

    def work(ranks: Ranks) -> Part:
        return part_of(tmp_path / "run", sink=None if ranks.is_first else fail)(ranks)

    first, second = together(tmp_path, work)
    assert isinstance(first, NoAnswerError)
    assert isinstance(second, ZeroDivisionError)


def test_they_refuse_to_go_on_from_different_steps(stopped: Path) -> None:
    def work(ranks: Ranks) -> Part:
        folder = stopped if ranks.is_first else stopped.parent / "empty"
        return part_of(folder, resume=True)(ranks)

    _, second = together(stopped.parent / "meeting", work)
    assert str(second) == "rank 1 would go on from step 0, the first process from step 5"


def test_everything_global_is_as_before(tmp_path: Path) -> None:
    before = sys.excepthook, dict(os.environ)
    with joined(tmp_path, rank=0, count=1, device=Device.cpu):
        assert dict(os.environ) == before[1]
    assert (sys.excepthook, dict(os.environ)) == before


def test_a_number_of_processes_that_was_not_asked_for_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"1 processes for runtime\.devices=2"):
        toy.train(tmp_path, machine=toy.runtime(devices=2))
