"""What `squeue` says, and whose job that is; a program in its place answers."""

from collections.abc import Callable
from pathlib import Path

import pytest

from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.slurm_queue import Queued, look, places, told
from tests.record.test_submission import SUBMISSION

Answering = Callable[[str], None]


@pytest.fixture
def squeue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Puts a script in the place of `squeue`."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def answering(script: str) -> None:
        program = tmp_path / "squeue"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)

    return answering


def test_jobs_have_states_and_reasons(squeue: Answering) -> None:
    squeue("printf '5|RUNNING|None\\n7_0|PENDING|Nodes required for job are DOWN|DRAINED\\n'")
    assert look() == {
        "5": Queued("RUNNING", "None"),
        "7_0": Queued("PENDING", "Nodes required for job are DOWN|DRAINED"),
    }


def test_an_empty_queue_is_an_answer_and_a_failure_is_none(squeue: Answering) -> None:
    squeue("")
    assert look() == {}
    squeue("exit 1")
    assert look() is None


def test_without_squeue_there_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert look() is None


def test_settings_of_squeue_hide_no_job(squeue: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    squeue('test -z "$SQUEUE_STATES" && echo "5|PENDING|Priority"')
    assert look() == {"5": Queued("PENDING", "Priority")}


def test_a_run_has_a_place_while_its_job_is_in_the_queue(tmp_path: Path) -> None:
    runs = [RunDirectory(tmp_path / name) for name in ("submitted", "never")]
    for run in runs:
        run.path.mkdir()
    SUBMISSION.write(runs[0])
    assert places(runs, {"123_4": Queued("RUNNING", "None")}) == {runs[0]: "123_4"}
    assert places(runs, {"123_5": Queued("RUNNING", "None")}) == {}


def test_a_place_in_words() -> None:
    assert told("123_4", Queued("PENDING", "Resources")) == "queued as 123_4 (Resources)"
    assert told("123_4", Queued("COMPLETING", "None")) == "completing as 123_4"
