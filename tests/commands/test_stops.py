"""A run that is stopped has a true status, and resumed it is the uninterrupted one."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
import torch
import yaml

from andrea_exp import job
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.train.checkpoint import Checkpoint, write
from tests.commands import tiny
from tests.pausing import MARK, SECOND_CHECKPOINT, pausing, wait_until

Said = pytest.CaptureFixture[str]
STEPS, LOG, SAVE = 24, 4, 7
STOPPED = 2 * SAVE + 1
"""The process pauses while it writes its second checkpoint, so that it stops one step later."""
LONG = (
    *tiny.WORDS,
    f"trainer.max_steps={STEPS}",
    f"trainer.log_every_steps={LOG}",
    f"trainer.checkpoint_every_steps={SAVE}",
    "trainer.accumulation=2",
    "model.dropout=0.1",
    "data.batch_size=4",
    "runtime.workers=2",
)
PATIENCE_S = 100.0
JOB = "python -m andrea_exp.job"
STATUS = {signal.SIGTERM: "preempted", signal.SIGINT: "interrupted"}
CODES = {signal.SIGTERM: 75, signal.SIGINT: 130, signal.SIGKILL: -signal.SIGKILL}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `LONG`, but in one process, that nobody stopped."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return place / tiny.train(*LONG, "runtime.workers=0")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> dict[signal.Signals, Path]:
    """Signal -> folder of a process that got it in the middle; all run at once."""
    hook = pausing(tmp_path_factory.mktemp("hook"), at=SECOND_CHECKPOINT)
    places = {number: tmp_path_factory.mktemp(number.name) for number in CODES}
    processes = {number: tiny.start(places[number], *LONG, path=hook) for number in CODES}
    for number, process in processes.items():
        runs = places[number] / "outputs" / "runs"
        wait_until(lambda runs=runs: any(runs.glob(f"*/{MARK}")), process=process)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == CODES[number], (out, err)
        run = tiny.only_run(places[number]).relative_to(places[number])
        if number is not signal.SIGKILL:
            assert err.splitlines() == [f"WARNING: {STATUS[number]}; go on with: {JOB} {run}"]
    return places


def copy_of(stopped: Path, place: Path) -> Path:
    """The stopped run, in the current directory."""
    shutil.copytree(stopped / "outputs", place / "outputs")
    return tiny.only_run(place)


def rows_at(place: Path) -> bool:
    """Whether the one run there has logged a row."""
    return any(path.stat().st_size for path in place.glob("outputs/runs/*/metrics.jsonl"))


def step_of(run: Path) -> int:
    """The step of its last checkpoint."""
    return torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["step"]


def assert_same(run: Path, whole: Path) -> None:
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.metrics(run) == tiny.metrics(whole)
    assert tiny.weights(run) == tiny.weights(whole)
    assert tiny.results(run)["lengths"] == tiny.results(whole)["lengths"]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), STATUS.items())
def test_a_signal_leaves_a_checkpoint_and_a_true_status(
    number: signal.Signals, status: str, stopped: dict[signal.Signals, Path]
) -> None:
    run = tiny.only_run(stopped[number])
    content = tiny.manifest(run)
    assert (content["status"], content["failure"]) == (status, None)
    assert content["ended_at"]
    assert step_of(run) == STOPPED
    assert STOPPED % LOG
    assert STOPPED % SAVE
    assert not (run / "results.json").exists()


@pytest.mark.slow
def test_a_preempted_run_is_resumed_by_the_same_command(
    stopped: dict[signal.Signals, Path], whole: Path, place: Path
) -> None:
    run = copy_of(stopped[signal.SIGTERM], place)
    assert main([*LONG, "resume=true"]) == 0
    assert_same(run, whole)


@pytest.mark.slow
def test_an_interrupted_run_is_resumed_from_its_directory(
    stopped: dict[signal.Signals, Path], whole: Path, place: Path
) -> None:
    run = copy_of(stopped[signal.SIGINT], place)
    assert job.main([str(run)]) == 0
    assert (run / "report.html").is_file()
    assert_same(run, whole)


@pytest.mark.slow
def test_a_killed_run_is_shown_as_interrupted_and_resumed_to_the_same_end(
    stopped: dict[signal.Signals, Path], whole: Path, place: Path
) -> None:
    run = copy_of(stopped[signal.SIGKILL], place)
    assert tiny.manifest(run)["status"] == "running"
    assert RunDirectory(run).shown_status() is Status.interrupted
    assert step_of(run) == SAVE
    assert main([*LONG, "resume=true"]) == 0
    assert_same(run, whole)


@pytest.mark.slow
def test_a_resume_that_forgets_the_random_state_is_another_run(
    stopped: dict[signal.Signals, Path], whole: Path, place: Path
) -> None:
    run = copy_of(stopped[signal.SIGTERM], place)
    file = run / "checkpoints" / "last.ckpt"
    saved = torch.load(file, weights_only=True)
    saved["cpu_random"] = [torch.Generator().manual_seed(5).get_state()]
    write(Checkpoint(**saved), folder=file.parent)
    assert job.main([str(run)]) == 0
    with pytest.raises(AssertionError):
        assert_same(run, whole)


@pytest.fixture
def preempted(stopped: dict[signal.Signals, Path], place: Path) -> Path:
    """The run that got SIGTERM."""
    return copy_of(stopped[signal.SIGTERM], place)


def ignore(_number: int, _frame: FrameType | None) -> None:
    return


@contextmanager
def signal_when(
    condition: Callable[[], bool], number: signal.Signals, *, delay_s: float = 0.0
) -> Generator[None]:
    """Signal this process once a condition holds; harmless when nobody handles it any more."""
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            if condition():
                over.wait(delay_s)
                os.kill(os.getpid(), number)
                return
            time.sleep(0.001)

    before = signal.signal(number, ignore)
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        signal.signal(number, before)


@pytest.mark.slow
def test_a_resume_with_other_data_is_refused_and_changes_no_status(
    preempted: Path, capsys: Said
) -> None:
    file = preempted / "config.yaml"
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    content["config"]["data"]["validation_tokens"] = 2001
    file.write_text(yaml.safe_dump(content), encoding="utf-8")
    capsys.readouterr()
    assert job.main([str(preempted)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("andrea_exp: ")
    assert "written with data " in line
    assert "start a new run" in line
    assert tiny.manifest(preempted)["status"] == "preempted"
    assert tiny.manifest(preempted)["failure"]["message"] in line


@pytest.mark.slow
def test_a_resume_with_other_threads_is_refused_and_changes_no_status(
    preempted: Path, capsys: Said
) -> None:
    before = (preempted / "manifest.json").read_bytes()
    capsys.readouterr()
    assert main([*LONG, "resume=true", "runtime.threads=2"]) == 2
    line = capsys.readouterr().err
    assert "was frozen with runtime.threads=1, not 2" in line
    assert (preempted / "manifest.json").read_bytes() == before
    file = preempted / "config.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("threads: 1", "threads: 2"), encoding="utf-8")
    assert job.main([str(preempted)]) == 2
    line = capsys.readouterr().err
    assert "written with threads 1, and now threads is 2" in line
    assert tiny.manifest(preempted)["status"] == "preempted"


@pytest.mark.slow
def test_another_recipe_has_nothing_to_resume(preempted: Path, capsys: Said) -> None:
    assert main([*LONG, "resume=true", "seed=1"]) == 2
    assert "no unfinished run of this recipe" in capsys.readouterr().err
    assert tiny.only_run(preempted.parents[2]) == preempted


@pytest.mark.parametrize(
    ("number", "code", "status"),
    [
        (signal.SIGTERM, 75, "preempted"),
        (signal.SIGUSR1, 75, "preempted"),
        (signal.SIGINT, 130, "interrupted"),
    ],
)
def test_a_signal_before_the_first_step_leaves_a_run_that_can_start(
    number: signal.Signals, code: int, status: str, place: Path
) -> None:
    words = [*tiny.WORDS, *tiny.WARNED]
    run = freeze_single(request(words)).path
    with tiny.signal_at_first_warning(number):
        assert job.main([str(run)]) == code
    assert tiny.manifest(run)["status"] == status
    assert not (run / "metrics.jsonl").exists()
    assert main([*words, "resume=true"]) == 0
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.only_run(place) == place / run


@pytest.mark.parametrize("delay_s", [0.0, 0.2], ids=["its beginning", "its middle"])
def test_a_signal_during_the_evaluation_leaves_only_that_to_do(place: Path, delay_s: float) -> None:
    words = [*tiny.WORDS, "evaluation.block_targets=40000", "data.validation_tokens=40001"]
    with signal_when(lambda: rows_at(place), signal.SIGTERM, delay_s=delay_s):
        assert main(words) == 75
    run = tiny.only_run(place)
    assert tiny.manifest(run)["status"] == "preempted"
    assert not (run / "results.json").exists()
    weights = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["model"]
    assert main([*words, "resume=true"]) == 0
    assert tiny.manifest(run)["status"] == "completed"
    again = torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["model"]
    assert all(torch.equal(weights[name], again[name]) for name in again)
    assert len(tiny.metrics(run)) == 1
