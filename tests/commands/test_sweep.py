"""`-m`: jobs are frozen before the first one starts; one failure stops no other."""

import itertools
import re
import signal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from andrea_exp import walk
from andrea_exp.__main__ import main
from andrea_exp.evaluate.results import Results
from andrea_exp.report import __main__ as report
from tests.commands import tiny

Said = pytest.CaptureFixture[str]
GRID = ("name=s", "position=learned,sinusoidal,rope,alibi,none", "output=tied,untied", "-m")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the ten jobs of `GRID` have run."""
    place = tmp_path_factory.mktemp("swept")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert main([*tiny.WORDS, *GRID]) == 0
    return place


def statuses(place: Path, name: str) -> list[str]:
    return [tiny.manifest(run)["status"] for run in tiny.runs(place, name)]


def test_ten_jobs_have_ten_directories_with_readable_names(swept: Path) -> None:
    found = [re.sub("-[0-9a-f]{12}$", "", run.name) for run in tiny.runs(swept, "s")]
    assert found == [
        f"position={position},output={output}"
        for position in ("alibi", "learned", "none", "rope", "sinusoidal")
        for output in ("tied", "untied")
    ]
    assert statuses(swept, "s") == ["completed"] * 10


def test_one_report_stands_over_all_of_them(swept: Path) -> None:
    text = (swept / "outputs" / "s" / "report.html").read_text(encoding="utf-8")
    assert "andrea_exp: 10 runs" in text
    for scheme in ("alibi", "learned", "none", "rope", "sinusoidal"):
        assert scheme in text
    assert not any((run / "report.html").exists() for run in tiny.runs(swept, "s"))


def test_the_report_is_rebuilt_byte_for_byte(swept: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.html"
    assert report.main([str(swept / "outputs" / "s"), "--output", str(again)]) == 0
    assert again.read_bytes() == (swept / "outputs" / "s" / "report.html").read_bytes()


def test_the_same_sweep_again_trains_nothing(
    swept: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.chdir(swept)
    before = {path: (swept / path).stat().st_mtime_ns for path in tiny.files(swept)}
    assert main([*tiny.WORDS, *GRID]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("10 jobs: 10 completed\n\nstatus")
    assert captured.err == ""
    after = {path: (swept / path).stat().st_mtime_ns for path in tiny.files(swept)}
    assert {path for path in after if after[path] != before.get(path)} == {"outputs/s/report.html"}


def test_a_larger_grid_trains_what_is_new(place: Path, capsys: Said) -> None:
    words = [*tiny.WORDS, "name=g", "trainer.max_steps=1", "-m"]
    assert main([*words, "seed=0"]) == 0
    (first,) = tiny.runs(place, "g")
    written = (first / "model.safetensors").stat().st_mtime_ns
    capsys.readouterr()
    assert main([*words, "seed=0,1"]) == 0
    assert capsys.readouterr().out.startswith("2 jobs: 1 completed, 1 pending\n[1/1] seed=1-")
    assert statuses(place, "g") == ["completed"] * 2
    assert (first / "model.safetensors").stat().st_mtime_ns == written


def test_rerun_trains_anew_beside_what_is_there(place: Path, capsys: Said) -> None:
    words = [*tiny.WORDS, "name=r", "trainer.max_steps=1", "seed=0,1", "-m"]
    assert main(words) == 0
    assert main([*words, "rerun=true"]) == 0
    names = [run.name for run in tiny.runs(place, "r")]
    assert len(names) == 4
    assert sorted(f"{name}-2" for name in names if not name.endswith("-2")) == sorted(
        name for name in names if name.endswith("-2")
    )
    capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("2 jobs: 2 completed")


def test_a_failed_job_is_done_again_and_one_that_diverged_is_not(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*tiny.WORDS, "name=again", "optimizer.lr=1e30,1e-3", "-m"]
    with monkeypatch.context() as patch:
        patch.setattr(walk, "measure", broken_measure)
        assert main(words) == 1
    assert statuses(place, "again") == ["failed", "nan"]
    diverged = tiny.runs(place, "again")[1]
    before = (diverged / "manifest.json").read_bytes()
    assert main(words) == 1
    assert statuses(place, "again") == ["completed", "nan"]
    assert (diverged / "manifest.json").read_bytes() == before


def test_what_a_job_was_frozen_with_stands(place: Path, capsys: Said) -> None:
    words = [*tiny.WORDS, "name=o", "seed=0,1", "-m"]
    with tiny.signal_at_first_warning(signal.SIGTERM):
        assert main([*words, *tiny.WARNED]) == 75
    assert main([*words, *tiny.WARNED, "runtime.threads=2"]) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert "was frozen with runtime.threads=1, not 2" in line
    assert "rerun=true" in line
    assert statuses(place, "o") == ["preempted", "pending"]


def test_a_folder_in_the_place_of_a_job_is_refused(place: Path, capsys: Said) -> None:
    words = [*tiny.WORDS, "name=t", "trainer.max_steps=1", "seed=3", "-m"]
    assert main(words) == 0
    (run,) = tiny.runs(place, "t")
    (run / "config.yaml").unlink()
    capsys.readouterr()
    assert main(words) == 2
    assert f"{run.relative_to(place)} exists already and is not a run" in capsys.readouterr().err


def test_a_job_of_a_sweep_is_the_same_run_alone(swept: Path, place: Path) -> None:
    (job,) = (swept / "outputs" / "s").glob("position=rope,output=untied-*")
    alone = place / tiny.train(*tiny.WORDS, "position=rope", "output=untied")
    assert alone.name.endswith(job.name[-12:][:6])
    assert tiny.weights(alone) == tiny.weights(job)
    assert tiny.metrics(alone) == tiny.metrics(job)
    assert tiny.results(alone)["lengths"] == tiny.results(job)["lengths"]
    other = place / tiny.train(*tiny.WORDS, "position=rope", "output=untied", "seed=1")
    assert tiny.weights(other) != tiny.weights(job)


def test_schemes_of_one_seed_see_the_same_data(swept: Path) -> None:
    found = {tiny.manifest(run)["data"]["fingerprint"] for run in tiny.runs(swept, "s")}
    assert len(found) == 1


def broken_measure(*_: object, **__: object) -> NoReturn:
    raise RuntimeError("injected")


def test_two_failures_of_twelve_stop_no_other_and_are_named(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    measure, done = walk.measure, itertools.count()

    def measure_but_two(*args: Any, **keywords: Any) -> Results:
        return (broken_measure if next(done) in (3, 8) else measure)(*args, **keywords)

    monkeypatch.setattr(walk, "measure", measure_but_two)
    seeds = "seed=" + ",".join(map(str, range(12)))
    assert main([*tiny.WORDS, "name=twelve", "trainer.max_steps=1", seeds, "-m"]) == 1
    found = {run.name.partition("-")[0]: run for run in tiny.runs(place, "twelve")}
    failed = {seed for seed in found if tiny.manifest(found[seed])["status"] == "failed"}
    assert failed == {"seed=3", "seed=8"}
    assert statuses(place, "twelve").count("completed") == 10
    table = capsys.readouterr().out.rpartition("status ")[2].splitlines()
    for seed in failed:
        assert "RuntimeError: injected" in (found[seed] / "run.log").read_text(encoding="utf-8")
        (row,) = [number for number, line in enumerate(table) if line.endswith(found[seed].name)]
        assert table[row].startswith("failed ")
        assert table[row + 1].strip() == "injected"
        assert table[row + 2].strip() == f"outputs/twelve/{found[seed].name}/run.log"


def test_a_run_that_diverges_is_named(place: Path, capsys: Said) -> None:
    assert main([*tiny.WORDS, "name=f", "optimizer.lr=1e30,1e-3", "-m"]) == 1
    good, failed = tiny.runs(place, "f")
    assert good.name.startswith("optimizer.lr=0.001-")
    assert failed.name.startswith("optimizer.lr=1e+30-")
    assert statuses(place, "f") == ["completed", "nan"]
    message = tiny.manifest(failed)["failure"]["message"]
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[:2] == [["[1/2]", failed.name], ["[2/2]", good.name]]
    first = next(number for number, line in enumerate(lines) if line[:1] == ["nan"])
    assert lines[first][-1] == failed.name
    assert " ".join(lines[first + 1]) == message
    assert lines[first + 2] == [f"outputs/f/{failed.name}/run.log"]
    assert lines[first + 3][0] == "completed"
    assert message in (failed / "run.log").read_text(encoding="utf-8")
    assert "not finite" in (place / "outputs" / "f" / "report.html").read_text(encoding="utf-8")


def test_fail_fast_stops_at_the_first_failure(place: Path) -> None:
    words = [*tiny.WORDS, "name=f", "optimizer.lr=1e30,1e-3", "sweep.fail_fast=true", "-m"]
    assert main(words) == 1
    assert sorted(statuses(place, "f")) == ["nan", "pending"]


def test_a_stopped_job_stops_the_sweep_and_leaves_the_rest_pending(
    place: Path, capsys: Said
) -> None:
    with tiny.signal_at_first_warning(signal.SIGTERM):
        assert main([*tiny.WORDS, *tiny.WARNED, "name=p", "seed=0,1", "-m"]) == 75
    assert statuses(place, "p") == ["preempted", "pending"]
    stopped = tiny.runs(place, "p")[0].relative_to(place)
    assert f"go on with: python -m andrea_exp.job {stopped}" in capsys.readouterr().err


def test_an_experiment_is_a_grid_that_the_command_line_can_shrink(place: Path) -> None:
    words = [*tiny.WORDS, "experiment=past_T", "position=learned,rope", "seed=0,1"]
    assert main([*words, "trainer.max_steps=1", "-m"]) == 0
    assert statuses(place, "past_T") == ["completed"] * 4
    text = (place / "outputs" / "past_T" / "report.html").read_text(encoding="utf-8")
    assert "What does each position scheme lose past the trained length, and what" in text
    assert "Screen: 0 pairs" in text


def test_a_sweep_of_one_job_is_a_sweep(place: Path) -> None:
    assert main([*tiny.WORDS, "name=one", "trainer.max_steps=1", "-m"]) == 0
    assert statuses(place, "one") == ["completed"]
    assert (place / "outputs" / "one" / "report.html").is_file()
