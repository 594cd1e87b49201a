"""A run knows the job of the scheduler that it was given to."""

import json
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.submission import Submission

SUBMISSION = Submission(
    launcher="slurm",
    job_id="123_4",
    submitted_at="2026-01-02T03:04:05.678+00:00",
    log="../.slurm/123_4_0_log.out",
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "sweep" / "job")
    run.path.mkdir(parents=True)
    assert Submission.of(run) is None
    SUBMISSION.write(run)
    assert Submission.of(run) == SUBMISSION
    assert SUBMISSION.log_file(run) == tmp_path / "sweep" / ".slurm" / "123_4_0_log.out"
    assert [path.name for path in run.path.iterdir()] == ["submission.json"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": 2}, "another schema"),
        ({"job_id": 123}, "wrong type of job_id"),
        ({"node": "n1"}, "node"),
    ],
)
def test_another_layout_is_refused_with_what_to_do(
    changes: dict[str, object], said: str, tmp_path: Path
) -> None:
    run = RunDirectory(tmp_path)
    SUBMISSION.write(run)
    content = json.loads(run.submission_file.read_text(encoding="utf-8"))
    run.submission_file.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    with pytest.raises(Refusal, match=f"submission.json cannot be read .*{said}.*submit again"):
        Submission.of(run)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": 1}'])
def test_what_is_no_submission_is_refused(text: str, tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.submission_file.write_text(text, encoding="utf-8")
    with pytest.raises(Refusal, match="cannot be read"):
        Submission.of(run)
