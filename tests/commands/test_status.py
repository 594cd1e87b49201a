"""`status`: the jobs of a sweep as their directories tell them."""

import json
from pathlib import Path

import pytest

from andrea_exp import status
from andrea_exp.__main__ import main
from andrea_exp.record.directory import RunDirectory
from tests.commands import tiny

Said = pytest.CaptureFixture[str]


@pytest.fixture
def sweep(place: Path) -> Path:
    """A sweep with a job of each kind: completed, nan and pending."""
    words = ["name=s", "optimizer.lr=1e-3,1e30,2e-3", "sweep.fail_fast=true", "-m"]
    assert main([*tiny.WORDS, *words]) == 1
    return place / "outputs" / "s"


def test_each_job_has_a_line(sweep: Path, capsys: Said) -> None:
    capsys.readouterr()
    assert status.main([str(sweep)]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["status", "step", "time", "val", "loss", "rise", "job"]
    assert [row.split()[:2] for row in (rows[0], rows[1], rows[2])] == [
        ["completed", "4/4"],
        ["pending", "0/4"],
        ["nan", "2/4"],
    ]
    assert rows[3].strip().startswith("the loss was not finite at step 2")
    assert rows[4].strip().endswith("/run.log")


def test_json_has_the_numbers_of_the_record(sweep: Path, capsys: Said) -> None:
    capsys.readouterr()
    assert status.main([str(sweep), "--json"]) == 0
    done, waiting, diverged = json.loads(capsys.readouterr().out)
    run = Path(done["path"])
    assert done["val_loss_nats"] == tiny.results(run)["final"]["val_loss_nats"]
    assert done["trained_s"] > 0
    assert (done["reason"], diverged["val_loss_nats"]) == (None, None)
    assert (waiting["status"], waiting["log"], waiting["trained_s"]) == ("pending", None, None)


def test_a_dead_job_is_told_from_a_running_one(sweep: Path, capsys: Said) -> None:
    waiting = next(run for run in sweep.iterdir() if "lr=0.002" in run.name)
    text = (waiting / "manifest.json").read_text(encoding="utf-8")
    (waiting / "manifest.json").write_text(text.replace('"pending"', '"running"'), encoding="utf-8")
    with RunDirectory(waiting).lock():
        assert _status_of(waiting, capsys) == "running"
    assert _status_of(waiting, capsys) == "interrupted"


def test_what_holds_no_run_is_refused(place: Path, capsys: Said) -> None:
    assert status.main([str(place)]) == 2
    assert "holds no run" in capsys.readouterr().err


def _status_of(run: Path, capsys: Said) -> str:
    capsys.readouterr()
    assert status.main([str(run), "--json"]) == 0
    return json.loads(capsys.readouterr().out)[0]["status"]


def test_a_damaged_job_is_shown_among_the_others(sweep: Path, capsys: Said) -> None:
    done = next(run for run in sweep.iterdir() if "lr=0.001" in run.name)
    (done / "manifest.json").write_bytes(b"\xff{")
    capsys.readouterr()
    assert status.main([str(sweep)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows[1].split()[0] == "unreadable"
    assert "manifest.json" in rows[2]
    assert len(rows) == 7  # a head, three jobs, and what is wrong below two of them
