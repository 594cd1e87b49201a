"""What goes wrong costs what it must, is said once, and nothing more is lost."""

import multiprocessing
import random
import secrets
import signal
import time
from dataclasses import replace
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from andrea_exp import job
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from tests.commands import tiny
from tests.pausing import IMPORT_OF_TORCH, MARK, pausing, wait_until
from tests.small_disk import fill, small_disk

Said = pytest.CaptureFixture[str]
STEPS = 40
WORDS = (
    *tiny.WORDS,
    f"trainer.max_steps={STEPS}",
    "trainer.log_every_steps=2",
    "trainer.checkpoint_every_steps=5",
    "model.dropout=0.1",
    "data.batch_size=4",
)
KILLS = 6
PATIENCE_S = 100.0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of `WORDS` to which nothing happened."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return place / tiny.train(*WORDS)


def frozen(*words: str) -> Path:
    """The directory of a run that has not started."""
    return freeze_single(request(words)).path


def stop_again(run: Path) -> None:
    """Make a run that has ended one that is to be resumed."""
    directory = RunDirectory(run)
    directory.write_manifest(replace(directory.manifest(), status=Status.preempted))
    directory.results_file.unlink(missing_ok=True)


def assert_same(run: Path, whole: Path) -> None:
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.manifest(run)["failure"] is None
    assert tiny.metrics(run) == tiny.metrics(whole)
    assert tiny.weights(run) == tiny.weights(whole)
    assert tiny.results(run)["lengths"] == tiny.results(whole)["lengths"]


def drafts(place: Path) -> list[str]:
    """What is half written."""
    return [name for name in tiny.files(place) if name.endswith(".new") or "/.new-" in name]


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.02, 0.2, 0.5, 0.8, 0.95])
def test_a_full_disk_is_one_message_and_the_run_goes_on_once_there_is_room(
    share: float, whole: Path, place: Path, capsys: Said
) -> None:
    needed = sum(path.stat().st_size for path in whole.rglob("*"))
    with small_disk(place / "disk", size=4 * needed) as disk:
        run = frozen(*WORDS, f"outputs={disk}")
        ballast = fill(disk, leave=int(share * needed))
        capsys.readouterr()
        status = job.main([str(run)])
        lines = capsys.readouterr().err.splitlines()
        assert status == 1
        (line,) = [line for line in lines if "run.log lacks lines" not in line]
        assert f"no room to write {run}/" in line
        assert "No space left on device, 0.0 MB free; make room there" in line
        assert f"then go on with: python -m andrea_exp.job {run}" in line
        assert drafts(disk) == []
        assert tiny.manifest(run)["status"] in {"failed", "pending", "running"}
        assert not (run / "results.json").exists()
        ballast.unlink()
        assert job.main([str(run)]) == 0
        assert_same(run, whole)
        assert drafts(disk) == []


def test_a_run_that_cannot_even_be_frozen_leaves_nothing(place: Path, capsys: Said) -> None:
    with small_disk(place / "disk", size=40_960) as disk:
        fill(disk, leave=0)
        assert main([*tiny.WORDS, f"outputs={disk}/outputs"]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert f"no room to write {disk}/outputs/runs: No space left on device" in line
        assert "outputs=FOLDER" in line
        assert drafts(disk) == []
        assert list(disk.rglob("*.yaml")) == []


def test_a_full_cache_is_named_with_the_way_out(
    place: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "text.txt").write_text("a few words " * 1200)
    words = [*tiny.WORDS, "data=text", "data.path=[text.txt]", "tokenizer=bytes"]
    words = [word for word in words if word not in tiny.NOISE]
    with small_disk(place / "cache", size=200_000) as cache:
        monkeypatch.setenv("ANDREA_EXP_CACHE", str(cache))
        ballast = fill(cache, leave=8192)
        assert main(words) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert f"no room to write {cache}/tokens: No space left on device" in line
        assert "ANDREA_EXP_CACHE" in line
        assert not (place / "outputs").exists()
        assert list(cache.rglob("*.bin")) == []
        ballast.unlink()
        assert main(words) == 0


@pytest.mark.usefixtures("place")
def test_a_report_that_cannot_be_written_leaves_the_run_completed(capsys: Said) -> None:
    run = frozen(*tiny.WORDS)
    (run / "report.html").mkdir()
    assert job.main([str(run)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("ERROR: the run is completed, but has no report: ")
    assert f"python -m andrea_exp.report {run}" in line
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.results(run)["final"]
    assert "has no report" in (run / "run.log").read_text()


@pytest.mark.usefixtures("place")
def test_a_line_that_a_kill_cut_short_is_written_again(whole: Path) -> None:
    run = tiny.train(*WORDS)
    stop_again(run)
    (run / "checkpoints" / "last.ckpt").unlink()
    metrics = run / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes()[:-20])
    assert job.main([str(run)]) == 0
    assert_same(run, whole)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("kept", "lost"), [(None, "1 to 40"), (0, "1 to 40"), (3, "7 to 40"), (20, None)]
)
def test_rows_that_are_gone_are_told_and_not_passed_over(
    kept: int | None, lost: str | None, capsys: Said
) -> None:
    run = tiny.train(*WORDS)
    stop_again(run)
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    (run / "metrics.jsonl").unlink()
    if kept is not None:
        (run / "metrics.jsonl").write_text("".join(lines[:kept]))
    capsys.readouterr()
    assert job.main([str(run)]) == 0
    said = capsys.readouterr().err
    assert (said != "") == (lost is not None)
    if lost is not None:
        assert f"metrics.jsonl lacks the rows of the steps {lost}, " in said


@pytest.mark.usefixtures("place")
def test_a_damaged_line_of_metrics_is_refused_and_stays(capsys: Said) -> None:
    run = tiny.train(*tiny.WORDS)
    stop_again(run)
    (run / "metrics.jsonl").write_text('?\n{"step": 4}\n')
    capsys.readouterr()
    assert job.main([str(run)]) == 2
    assert "metrics.jsonl:1 is not a line of metrics" in capsys.readouterr().err
    assert (run / "metrics.jsonl").read_text() == '?\n{"step": 4}\n'
    assert tiny.manifest(run)["status"] == "preempted"


@pytest.mark.usefixtures("place")
def test_a_damaged_run_does_not_stand_in_the_way_of_its_neighbour(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = tiny.train(*tiny.WORDS)
    stop_again(run)
    other = run.parent / "2999-01-01_00-00-00_abcdef"
    other.mkdir()
    (other / "config.yaml").write_bytes(b"\xff")
    (other / "manifest.json").write_text("{")
    assert main([*tiny.WORDS, "resume=true"]) == 0
    assert any(f"{other} is passed over" in message for message in caplog.messages)
    assert tiny.manifest(run)["status"] == "completed"


@pytest.mark.slow
def test_kills_at_any_moment_cost_no_line_and_no_bit(whole: Path, place: Path) -> None:
    run = frozen(*WORDS)
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(["andrea_exp.execution"])
    draw, moments = random.Random(0), list[tuple[int, float]]()
    before = b""
    while len(moments) < KILLS:
        rows, then_s = moment = draw.randrange(5), draw.uniform(0, 0.1)
        moments.append(moment)
        process = server.Process(target=job.main, args=([str(run)],))
        process.start()
        wait_for_rows(run, before.count(b"\n") + rows, process)
        process.join(then_s)
        process.kill()
        process.join()
        content = written(run)
        assert content.startswith(before), moments
        assert tiny.manifest(run)["status"] in {"pending", "running", "completed"}, moments
        before = content[: content.rfind(b"\n") + 1]
    assert before.count(b"\n") > KILLS
    assert job.main([str(run)]) == 0
    assert_same(run, whole)
    assert drafts(place) == []


def written(run: Path) -> bytes:
    metrics = run / "metrics.jsonl"
    return metrics.read_bytes() if metrics.exists() else b""


def wait_for_rows(run: Path, count: int, process: BaseProcess) -> None:
    """Wait until a process has logged so many rows, or has ended."""
    while process.is_alive() and written(run).count(b"\n") < count:
        time.sleep(0.001)


@pytest.mark.slow
def test_a_signal_during_the_imports_is_answered_after_them(place: Path) -> None:
    (place / "hook").mkdir()
    hook = pausing(place / "hook", at=IMPORT_OF_TORCH)
    runs = {number: frozen(*tiny.WORDS) for number in (signal.SIGTERM, signal.SIGUSR2)}
    processes = {
        number: tiny.start(run, str(run.absolute()), path=hook, module="andrea_exp.job")
        for number, run in runs.items()
    }
    for number, process in processes.items():
        wait_until((runs[number] / MARK).exists, process=process)
        process.send_signal(number)
    for number, process in processes.items():
        out, err = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, out, len(err.splitlines())) == (75, "", 1)
        assert "preempted" in err
        assert tiny.manifest(runs[number])["status"] in {"pending", "preempted"}
        assert not (runs[number] / "metrics.jsonl").exists()


def test_no_secret_of_the_environment_is_in_any_file(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("WANDB_API_KEY", "HF_TOKEN", "MY_SECRET", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY")
    values = {name: secrets.token_urlsafe(30) for name in names}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("TOKEN", "completed")
    monkeypatch.setenv("OTHER_TOKEN", "sinusoidal")
    words = [*tiny.WORDS, "position=sinusoidal"]
    words += [f"question='why {' '.join(values.values())}'"]
    monkeypatch.setattr("sys.argv", ["andrea_exp", *words])
    assert main(words) == 0
    run = tiny.only_run(place)
    contents = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    assert b"why *** *** *** *** ***" in contents[run / "config.yaml"]
    assert b"why *** *** *** *** ***" in contents[run / "manifest.json"]
    for path, content in contents.items():
        leaked = [name for name, value in values.items() if value.encode() in content]
        assert leaked == [], path
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.manifest(run)["choices"]["position"] == "sinusoidal"
