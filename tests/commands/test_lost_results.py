"""A completed run whose `results.json` was removed: told everywhere, and measured again."""

import shutil
from pathlib import Path

import pytest

from andrea_exp import job, status
from andrea_exp.__main__ import main
from andrea_exp.report.page import page, read
from tests.commands import tiny

Said = pytest.CaptureFixture[str]
SWEEP = (*tiny.WORDS, "name=s", "seed=0,1", "-m")
CLOCK = "throughput"


@pytest.fixture
def lost(place: Path, finished: Path) -> Path:
    """A copy of a completed run, without its results."""
    copy = Path(shutil.copytree(finished, place / "outputs" / "runs" / finished.name))
    (copy / "results.json").unlink()
    return copy.relative_to(place)


def test_the_status_names_the_remedy(lost: Path, capsys: Said) -> None:
    assert status.main([str(lost)]) == 0
    _, row, reason, log = capsys.readouterr().out.splitlines()
    assert row.split()[0] == "completed"
    assert reason.strip().startswith("results.json is not there; ")
    assert reason.endswith(f"python -m andrea_exp.job {lost}")
    assert log.strip() == f"{lost}/run.log"


def test_the_report_names_the_remedy(lost: Path) -> None:
    text = page(read([lost]))
    faults = text[text.index('id="faults"') :]
    assert "it completed, but results.json is not there; executing the directory again" in faults


@pytest.mark.parametrize("checkpoint", [True, False])
def test_executing_it_measures_the_same_again(
    lost: Path, finished: Path, checkpoint: bool, capsys: Said
) -> None:
    if not checkpoint:
        shutil.rmtree(lost / "checkpoints")
    assert job.main([str(lost)]) == 0
    assert f"{lost}: completed, but results.json is not there" in capsys.readouterr().err
    again, before = tiny.results(lost), tiny.results(finished)
    assert again.keys() == before.keys()
    assert [key for key in again if key != CLOCK and again[key] != before[key]] == []
    assert tiny.metrics(lost) == tiny.metrics(finished)
    assert tiny.weights(lost) == tiny.weights(finished)
    assert tiny.manifest(lost)["status"] == "completed"


def test_resume_finds_it(lost: Path) -> None:
    assert main([*tiny.WORDS, "resume=true"]) == 0
    assert (lost / "results.json").exists()


def test_the_same_sweep_measures_it_and_nothing_else(place: Path, capsys: Said) -> None:
    assert main(list(SWEEP)) == 0
    first, second = tiny.runs(place, "s")
    before = tiny.results(first)
    (first / "results.json").unlink()
    untouched = (second / "manifest.json").read_bytes()
    capsys.readouterr()
    assert main(list(SWEEP)) == 0
    out, err = capsys.readouterr()
    assert out.startswith("2 jobs: 1 completed without results.json, measured again, 1 completed\n")
    assert "completed, but results.json is not there; measuring again" in err
    assert tiny.results(first)["lengths"] == before["lengths"]
    assert (second / "manifest.json").read_bytes() == untouched


def test_the_same_sweep_shows_a_damaged_file_and_its_neighbour(place: Path, capsys: Said) -> None:
    assert main(list(SWEEP)) == 0
    first, _ = tiny.runs(place, "s")
    (first / "results.json").write_text('{"schema": 1}')
    capsys.readouterr()
    assert main(list(SWEEP)) == 1
    out = capsys.readouterr().out
    table = out[out.index("status ") :].splitlines()
    assert [row.split()[0] for row in (table[1], table[3])] == ["unreadable", "completed"]
    assert "results.json lacks final; remove the file" in table[2]
    assert "seed=1" in (place / "outputs" / "s" / "report.html").read_text()
