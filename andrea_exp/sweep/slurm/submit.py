"""Run directories handed to Slurm as one array, by submitit."""

import os
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from submitit.core.utils import FailedJobError
from submitit.slurm.slurm import SlurmExecutor

from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import utc_now
from andrea_exp.record.slurm_queue import PATIENCE_S
from andrea_exp.record.submission import Submission
from andrea_exp.sweep.slurm.job import Job

FOLDER = ".slurm"
"""Beside the runs of a sweep: batch scripts, logs, and what submitit keeps for itself."""


@final
class Submitter:
    """Hands the runs of one folder to Slurm."""

    def __init__(self, home: Path, *, parameters: Mapping[str, Any], max_num_timeout: int) -> None:
        """Nothing is written yet.

        Args:
            home: the folder of the runs.
            parameters: what submitit calls sbatch's options.
            max_num_timeout: how often a job is requeued at its time limit.
        """
        self.folder = home / FOLDER
        self._executor = _Executor(self.folder.absolute(), max_num_timeout=max_num_timeout)
        self._executor.update_parameters(**parameters)

    def script(self, count: int) -> str:
        """The batch script for that many jobs."""
        return self._executor.script(count)

    def reasons(self, count: int) -> list[str]:
        """Why Slurm would not take that many jobs; it is asked, and nothing is submitted."""
        try:
            with _outside_of_a_job():
                asked = subprocess.run(
                    ["sbatch", "--test-only"],
                    input=self.script(count),
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=PATIENCE_S,
                )
        except subprocess.TimeoutExpired:
            return [f"hydra/launcher=slurm: Slurm has not answered for {PATIENCE_S} s"]
        if asked.returncode == 0:
            return []
        said = "; ".join(line for line in asked.stderr.splitlines() if line.strip())
        return [f"hydra/launcher=slurm: Slurm would not take these jobs: {said}"]

    def submit(self, runs: Sequence[RunDirectory], *, launcher: str) -> list[str]:
        """Submit runs as one array, and leave its job's id with each.

        Raises:
            Refusal: Slurm did not take them.
        """
        try:
            with _outside_of_a_job():
                jobs = self._executor.submit_array([Job(run.path.absolute()) for run in runs])
        except FailedJobError as error:
            raise Refusal(f"hydra/launcher=slurm: Slurm did not take the jobs: {error}") from error
        for run, job in zip(runs, jobs, strict=True):
            log = os.path.relpath(job.paths.stdout, run.path.absolute())
            Submission(launcher=launcher, job_id=job.job_id, submitted_at=utc_now(), log=log).write(
                run
            )
        return [job.job_id for job in jobs]


@final
class _Executor(SlurmExecutor):
    """Submitit's, which also shows its script."""

    def script(self, count: int) -> str:
        """What `submit_array` would give to sbatch for that many jobs."""
        whole = {**self.parameters, **({"map_count": count} if count > 1 else {})}
        other = _Executor(self.folder)
        other.parameters = whole
        return other._make_submission_file_text(self._submitit_command_str, "")


@contextmanager
def _outside_of_a_job() -> Generator[None]:
    """Hide what an interactive job has set: what is submitted from it would inherit its sizes."""
    inside = "SLURM_JOB_ID" in os.environ
    hidden = {
        name: os.environ.pop(name)
        for name in list(os.environ)
        if inside and name.startswith(("SLURM_", "SLURMD_", "SRUN_")) and name != "SLURM_CONF"
    }
    try:
        yield
    finally:
        os.environ.update(hidden)
