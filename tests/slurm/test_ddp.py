"""A training of two processes as one job of a real Slurm."""

from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from tests import options
from tests.commands import tiny

WORDS = (
    *tiny.WORDS,
    "runtime=ddp",
    "hydra/launcher=slurm",
    "hydra.launcher.cpus_per_task=2",
    "hydra.launcher.mem_gb=null",
    "hydra.launcher.poll_s=0.3",
)


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_two_processes_of_one_job_are_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(options.PACKAGE.parent))
    assert main([*WORDS, "name=two", "seed=0", "-m"]) == 0
    run = tiny.only_run(tmp_path, "two")
    alone = tmp_path / tiny.train(*tiny.WORDS)
    for row, expected in zip(tiny.metrics(run), tiny.metrics(alone), strict=True):
        assert row == pytest.approx(expected, rel=1e-5)
