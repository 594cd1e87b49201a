"""The worked example of CONTRIBUTING.md: three new files, no edit, and the scheme runs."""

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


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the project with the example's files."""
    for part in ("andrea_exp", "conf", "tests"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, tmp_path / part, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    files = EXAMPLE.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(files) == 3
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
    _python(
        extended,
        *("-m", "andrea_exp", "position=binary", "name=new", "data=noise", "data.vocab=11"),
        *(
            "trainer.max_steps=2",
            "optimizer.schedule.warmup_steps=1",
            "model.d_model=16",
            "model.context=8",
            "logger.mode=disabled",
        ),
        *("evaluation.block_targets=64", "evaluation.sliding_targets=32", "evaluation.anchors=2"),
    )
    (run,) = (extended / "outputs" / "new").iterdir()
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert results["cost"]["position"] == 0
    assert {row["beyond"] for row in results["lengths"]} == {"formula"}
