"""Whatever is wrong with a run stands in the report, and in no other run's way."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.record.manifest import Status
from andrea_exp.report.page import page, read
from benchmarks.synthetic_runs import make_run
from tests.claims.experiment import CLAIM
from tests.report.test_sections import rows

TAG = "<script>alert(1)</script>"


def three_seeds(folder: Path) -> list[Path]:
    """Three seeds of two arms; those of rope are returned."""
    for seed in range(3):
        make_run(folder, position="none", seed=seed)
    return [make_run(folder, position="rope", seed=seed) for seed in range(3)]


def paired_seeds(text: str) -> str:
    """How the table of paired differences counts the pairs of the second arm."""
    (_, row) = rows(text, key="seeds-paired")
    found = re.search(r"\d+ of \d+ seeds", row[2])
    assert found is not None
    return found.group()


def test_without_a_fault_none_is_shown(tmp_path: Path) -> None:
    three_seeds(tmp_path)
    text = page(read([tmp_path]))
    assert "None: 6 runs completed." in text
    assert paired_seeds(text) == "3 of 3 seeds"


def test_a_run_that_became_nan_is_named_at_the_top_and_with_its_last_step(tmp_path: Path) -> None:
    three_seeds(tmp_path)
    make_run(tmp_path, position="rope", seed=3, status=Status.nan, steps=190)
    text = page(read([tmp_path]))
    assert "1 of 7 runs left no results." in text
    assert "By status: 1 nan." in text
    (row,) = rows(text, key="faults")
    assert row[:5] == ["rope, seed 3", "nan", "the loss was not finite", "190", "not finite"]


def test_a_seed_that_one_arm_lacks_is_told_at_its_pairs(tmp_path: Path) -> None:
    *_, last = three_seeds(tmp_path)
    for file in last.iterdir():
        file.unlink()
    last.rmdir()
    assert paired_seeds(page(read([tmp_path]))) == "2 of 3 seeds"


def test_metrics_cut_in_their_middle_make_a_run_unreadable_by_name_and_line(
    tmp_path: Path,
) -> None:
    *_, last = three_seeds(tmp_path)
    lines = (last / "metrics.jsonl").read_text().splitlines(keepends=True)
    (last / "metrics.jsonl").write_text("".join([*lines[:4], lines[4][:20] + "\n", *lines[5:]]))
    text = page(read([tmp_path]))
    (row,) = rows(text, key="faults")
    assert row[1] == "unreadable"
    assert row[2].startswith("metrics.jsonl:5 is not a line of metrics")
    assert paired_seeds(text) == "2 of 3 seeds"


@pytest.mark.parametrize("name", ["manifest.json", "results.json"])
def test_a_run_of_another_schema_is_shown_with_both_versions(tmp_path: Path, name: str) -> None:
    *_, last = three_seeds(tmp_path)
    content = json.loads((last / name).read_text())
    (last / name).write_text(json.dumps({**content, "schema": 7}))
    text = page(read([tmp_path]))
    assert "1 run could not be read." in text
    (row,) = rows(text, key="faults")
    assert row[2].startswith(f"{name} has schema 7, this version of andrea_exp reads 1")


def test_tags_in_name_question_and_claims_are_shown_as_text(tmp_path: Path) -> None:
    claim: dict[str, Any] = {**CLAIM, "statement": f"{TAG} said", "source": f"{TAG} wrote"}
    asked = {"seeds": [0], "claims": [claim], "question": f"{TAG}?", "name": f"{TAG} name"}
    for position in ("alibi", "sinusoidal"):
        make_run(tmp_path, position=position, job=f"x <i>{position}", experiment=asked)
    text = page(read([tmp_path]))
    shown = TAG.replace("<", "&lt;").replace(">", "&gt;")
    for words in (f"{shown}?", f"{shown} said", f"{shown} wrote", f"{shown} name"):
        assert words in text
    assert "<script" not in text
    assert "<i>" not in text
