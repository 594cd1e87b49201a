"""The worked examples of CONTRIBUTING.md: new files, no edit, and they run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import andrea_exp

ROOT = Path(andrea_exp.__file__).parent.parent
EXAMPLE = re.compile(r"`([\w/]+\.(?:py|yaml))`:\n\n```(?:python|yaml)\n(.*?)```", re.DOTALL)

TINY = (
    *("data=noise", "data.vocab=11", "data.validation_tokens=2000", "model.d_model=16"),
    *("model.context=8", "trainer.max_steps=2", "optimizer.schedule.warmup_steps=1"),
    *("evaluation.block_targets=64", "evaluation.sliding_targets=32", "evaluation.anchors=2"),
    "logger.mode=disabled",
)


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the project with the example's files."""
    for part in ("andrea_exp", "conf", "tests"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    files = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(files) == 4
    for name, text in files:
        assert not (tmp_path / name).exists()
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _python(folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_new_position_scheme_is_three_new_files(extended: Path) -> None:
    assert "Binary digits of the position" in _python(extended, "-m", "andrea_exp", "--help")
    _python(extended, "-m", "pytest", "-q", "tests/position/test_binary.py")
    _python(extended, "-m", "andrea_exp", "position=binary", "name=new", *TINY)
    (run,) = (extended / "outputs" / "new").iterdir()
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert results["cost"]["position"] == 0
    assert {row["beyond"] for row in results["lengths"]} == {"formula"}


@pytest.mark.slow
def test_an_experiment_is_one_new_file(extended: Path) -> None:
    """Two of its seeds: a screen, in which no claim gets a verdict."""
    words = ("-m", "andrea_exp", "-m", "experiment=digits", "seed=0,1", *TINY)
    assert _python(extended, *words).count("completed") >= 4
    _python(extended, "-m", "andrea_exp.report", "outputs/digits", "--keep", "experiments/digits")
    kept = extended / "experiments" / "digits"
    assert "| undecided |" in (kept / "verdicts.md").read_text(encoding="utf-8")
    assert "Screen: 2 pairs" in (kept / "report.html").read_text(encoding="utf-8")
