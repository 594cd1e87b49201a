"""`-m`: jobs are frozen before the first one starts; one failure stops no other."""

import re
import signal
from pathlib import Path

import pytest

from andrea_exp.__main__ import main
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


def test_the_same_sweep_again_is_refused_and_changes_nothing(
    swept: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.chdir(swept)
    before = {path: (swept / path).stat().st_mtime_ns for path in tiny.files(swept)}
    assert main([*tiny.WORDS, *GRID]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert "exists already; choose another name=" in line
    assert {path: (swept / path).stat().st_mtime_ns for path in tiny.files(swept)} == before


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


def test_one_failed_job_stops_no_other_and_is_named(place: Path, capsys: Said) -> None:
    assert main([*tiny.WORDS, "name=f", "optimizer.lr=1e30,1e-3", "-m"]) == 1
    good, failed = tiny.runs(place, "f")
    assert good.name.startswith("optimizer.lr=0.001-")
    assert failed.name.startswith("optimizer.lr=1e+30-")
    assert statuses(place, "f") == ["completed", "nan"]
    message = tiny.manifest(failed)["failure"]["message"]
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    table = lines.index(["status", "job"])
    assert lines[:2] == [["[1/2]", failed.name], ["[2/2]", good.name]]
    assert lines[table + 1] == ["nan", failed.name]
    assert " ".join(lines[table + 2]) == message
    assert lines[table + 3] == [f"outputs/f/{failed.name}/run.log"]
    assert lines[table + 4] == ["completed", good.name]
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
    assert "What does each position scheme lose past the trained length?" in text


def test_a_sweep_of_one_job_is_a_sweep(place: Path) -> None:
    assert main([*tiny.WORDS, "name=one", "trainer.max_steps=1", "-m"]) == 0
    assert statuses(place, "one") == ["completed"]
    assert (place / "outputs" / "one" / "report.html").is_file()
