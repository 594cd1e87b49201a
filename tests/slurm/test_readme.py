"""The lines of README.md that need a cluster, typed on one."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import options
from tests.commands import tiny
from tests.test_readme import ON_SLURM, TINY

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

SMALL = ["hydra.launcher.mem_gb=1", "hydra.launcher.poll_s=0.5", "runtime.threads=1"]
"""What the nodes here have room for."""


@pytest.mark.usefixtures("cluster")
def test_the_lines_of_the_page_work_as_typed(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(options.PACKAGE.parent)}
    said: list[str] = []
    for line in ON_SLURM:
        program, *words = shlex.split(line)
        assert program == "python"
        added = [*TINY, *SMALL] if "andrea_exp" in words else []
        done = subprocess.run(
            [sys.executable, *words, *added],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        said.append(done.stdout)
    found = [tiny.manifest(run)["status"] for run in tiny.runs(tmp_path, "ablation")]
    assert found == ["completed"] * 6
    assert said[0].startswith("submitted ")
    assert "submitted" not in said[1], "what is finished is left as it is"
    assert said[2].count("completed") == 6
