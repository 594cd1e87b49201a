"""Sweeps on a real Slurm: what the scheduler does to a job, and what the run makes of it.

All jobs of the module live through their fates side by side, before the first test looks. Each is
the same run, in a sweep of its own name.
"""

import os
import signal
from collections.abc import Callable, Generator
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from andrea_exp.__main__ import main
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.record.submission import Submission
from tests import options
from tests.commands import tiny
from tests.pausing import MARK, SECOND_CHECKPOINT, pausing, wait_until
from tests.slurm.cluster import PATIENCE_S, Cluster

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

STEPS, SAVE = 24, 7
PAUSED_AT = 2 * SAVE
LAUNCHER = (
    "hydra/launcher=slurm",
    "hydra.launcher.cpus_per_task=1",
    "hydra.launcher.mem_gb=null",
    "hydra.launcher.timeout_min=9",  # below ten, submitit takes every signal for the time limit
    "hydra.launcher.poll_s=0.3",
)
LONG = (
    *tiny.WORDS,
    f"trainer.max_steps={STEPS}",
    f"trainer.checkpoint_every_steps={SAVE}",
    "trainer.log_every_steps=4",
    "model.dropout=0.1",
)
WARNED_S, LEFT_S = 45, 60
"""A time limit so near that Slurm warns at its next look, 30 s from now at the latest."""


@dataclass
class Told:
    """What was seen while it happened, by the name of the sweep."""

    place: Path
    jobs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    said: dict[str, str] = field(default_factory=dict[str, str])
    ended: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    statuses: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    queue: dict[str, str] = field(default_factory=dict[str, str])

    def run(self, name: str) -> Path:
        """The one run of a sweep."""
        return tiny.only_run(self.place, name)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nobody disturbed, in this process."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return place / tiny.train(*LONG)


@pytest.fixture(scope="module")
def told(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Generator[Told]:
    """All fates, one after the other where they must be."""
    hook = pausing(tmp_path_factory.mktemp("hook"), at=SECOND_CHECKPOINT)
    place = tmp_path_factory.mktemp("sweeps")
    package = str(options.PACKAGE.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("PYTHONPATH", os.pathsep.join([str(hook), package]))
        story = Told(place)

        def submit(name: str, *words: str, wait: str = "false") -> int:
            with redirect_stdout(StringIO()) as out:
                code = main([*LONG, *LAUNCHER, f"name={name}", f"sweep.wait={wait}", *words, "-m"])
            story.said[name] = out.getvalue()
            runs = [RunDirectory(run) for run in tiny.runs(place, name)]
            found = [Submission.of(run) for run in runs]
            story.jobs[name] = [each.job_id for each in found if each is not None]
            return code

        _submit_all(submit)
        _wait(lambda: _paused(place) == len(PAUSED))
        _again_while_queued(story, submit)
        story.queue = cluster.queue()
        _strike(story, cluster)
        patch.setenv("PYTHONPATH", package)
        code = submit("grid", *GRID, "hydra.launcher.gpus_per_node=1", wait="true")
        assert code == 1
        story.ended["gpu"] = cluster.job(story.jobs["grid"][0])
        _let_them_end(story, cluster)
        assert submit("spent", "hydra.launcher.max_num_timeout=0", wait="true") == 0
        yield story


PAUSED = ("limit", "spent", "low", "warned", "killed", "ended")
GRID = ("trainer.max_steps=4", "optimizer.lr=1e-3,1e30")


def _submit_all(submit: Callable[..., int]) -> None:
    assert submit("limit", "hydra.launcher.max_num_timeout=1", *near()) == 0
    assert submit("spent", "hydra.launcher.max_num_timeout=0", *near()) == 0
    assert submit("low", "hydra.launcher.partition=low") == 0
    assert submit("warned") == 0
    assert submit("killed") == 0
    assert submit("ended", "seed=0,1", "hydra.launcher.array_parallelism=1") == 0


def near() -> list[str]:
    """So early is the warning."""
    return [f"hydra.launcher.signal_delay_s={WARNED_S}"]


def _paused(place: Path) -> int:
    """How many runs wait for a signal."""
    for run in place.glob("outputs/*/[!.]*/"):
        assert tiny.manifest(run)["failure"] is None, log(run)
    return len(list(place.glob(f"outputs/*/*/{MARK}")))


def _again_while_queued(story: Told, submit: Callable[..., int]) -> None:
    before = story.jobs["ended"]
    first = story.said["ended"]
    assert submit("ended", "seed=0,1", "hydra.launcher.array_parallelism=1") == 0
    assert story.jobs["ended"] == before
    story.said["ended again"], story.said["ended"] = story.said["ended"], first


def _strike(story: Told, cluster: Cluster) -> None:
    """Each job meets its fate."""
    for name in ("limit", "spent"):
        end = datetime.now() + timedelta(seconds=LEFT_S)
        (job,) = story.jobs[name]
        cluster.answer("scontrol", "update", f"JobId={job}", f"EndTime={end:%Y-%m-%dT%H:%M:%S}")
    cluster.answer("sbatch", "--partition=high", "--output=/dev/null", "--wrap=sleep 1")
    cluster.answer("scancel", "--signal=TERM", *story.jobs["warned"])
    holder = (story.run("killed") / ".lock").read_text(encoding="utf-8")
    os.kill(int(holder.split()[1]), signal.SIGKILL)  # "process 123 on host"
    cluster.answer("scancel", *story.jobs["ended"])


def _let_them_end(story: Told, cluster: Cluster) -> None:
    """A job that was requeued gets time again; wait until every job has left the queue."""
    (limit,) = story.jobs["limit"]
    _wait(lambda: cluster.job(limit)["Restarts"] == "1")
    cluster.answer("scontrol", "update", f"JobId={limit}", "TimeLimit=9")
    _wait(lambda: not cluster.queue())
    for name, jobs in story.jobs.items():
        story.ended[name] = cluster.job(jobs[0])
        runs = [RunDirectory(run) for run in tiny.runs(story.place, name)]
        story.statuses[name] = [run.shown_status().name for run in runs]


def _wait(condition: Callable[[], bool]) -> None:
    wait_until(condition, patience_s=10 * PATIENCE_S, every_s=0.2)


def assert_same(run: Path, whole: Path) -> None:
    assert tiny.manifest(run)["status"] == "completed"
    assert tiny.metrics(run) == tiny.metrics(whole)
    assert tiny.weights(run) == tiny.weights(whole)
    assert tiny.results(run)["lengths"] == tiny.results(whole)["lengths"]


def log(run: Path) -> str:
    """What its job said."""
    submission = Submission.of(RunDirectory(run))
    assert submission is not None
    return submission.log_file(RunDirectory(run)).read_text(encoding="utf-8")


def test_a_preempted_job_is_requeued_and_ends_as_if_undisturbed(told: Told, whole: Path) -> None:
    assert told.ended["low"]["Restarts"] == "1"
    assert told.ended["low"]["JobState"] == "COMPLETED"
    assert "preempted" in (told.run("low") / "run.log").read_text(encoding="utf-8")
    assert_same(told.run("low"), whole)


def test_a_job_that_is_only_warned_requeues_itself(told: Told, whole: Path) -> None:
    """As in the grace time of a preemption: who then ends by himself is not requeued by Slurm."""
    assert told.ended["warned"]["Restarts"] == "1"
    assert told.ended["warned"]["JobState"] == "COMPLETED"
    assert_same(told.run("warned"), whole)


def test_at_its_time_limit_a_job_requeues_itself_and_goes_on(told: Told, whole: Path) -> None:
    assert told.ended["limit"]["Restarts"] == "1"
    assert told.ended["limit"]["JobState"] == "COMPLETED"
    assert "(0 remaining timeouts)" in log(told.run("limit"))
    assert_same(told.run("limit"), whole)


def test_after_the_last_time_limit_a_run_stays_preempted_and_the_same_command_goes_on(
    told: Told, whole: Path
) -> None:
    assert told.statuses["spent"] == ["preempted"]
    assert told.ended["spent"]["Restarts"] == "0"
    assert told.ended["spent"]["ExitCode"] == "75:0"
    assert_same(told.run("spent"), whole)


def test_a_cancelled_job_is_not_requeued_and_keeps_its_checkpoint(told: Told) -> None:
    assert sorted(told.statuses["ended"]) == ["pending", "preempted"]
    assert told.ended["ended"]["JobState"] == "CANCELLED"
    assert len(list(told.place.glob("outputs/ended/*/checkpoints/last.ckpt"))) == 1


def test_a_killed_job_is_shown_as_interrupted(told: Told) -> None:
    assert tiny.manifest(told.run("killed"))["status"] == "running"
    assert told.statuses["killed"] == ["interrupted"]
    assert RunDirectory(told.run("killed")).shown_status() is Status.interrupted


def test_a_failed_job_stops_no_other_and_fails_in_slurms_books_too(told: Told) -> None:
    good, failed = tiny.runs(told.place, "grid")
    assert [tiny.manifest(run)["status"] for run in (good, failed)] == ["completed", "nan"]
    assert "not finite" in log(failed)
    lines = told.said["grid"].splitlines()
    assert lines[0].startswith("submitted ")
    assert any(line.endswith("  2 ended") for line in lines)
    assert any(line.startswith("nan ") for line in lines)


def test_the_jobs_of_a_sweep_are_one_array(told: Told) -> None:
    (first, second), (array, _) = told.jobs["grid"], told.jobs["grid"][0].split("_")
    assert (first, second) == (f"{array}_0", f"{array}_1")


def test_without_waiting_the_command_ends_and_names_what_ends_the_jobs(told: Told) -> None:
    (job,) = told.jobs["limit"]
    said = told.said["limit"].splitlines()
    assert said[0] == f"submitted {job}; logs in outputs/limit/.slurm"
    assert f"scancel {job}" in said[1]
    assert said[2] == "follow them with: python -m andrea_exp.status outputs/limit"


def test_the_same_command_does_not_submit_what_is_queued_or_running(told: Told) -> None:
    said = told.said["ended again"]
    running, waiting = sorted(told.jobs["ended"])
    assert (told.queue[running], told.queue[waiting]) == ("RUNNING", "PENDING")
    assert f": running as {running}\n" in said
    assert f": queued as {waiting} (JobArrayTaskLimit)\n" in said
    assert "submitted" not in said


def test_a_job_gets_the_graphics_card_it_asks_for(told: Told) -> None:
    assert "gres:gpu:1" in told.ended["gpu"]["TresPerNode"]
    assert "TresPerNode" not in told.ended["limit"]


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("hydra.launcher.partition=nowhere", "invalid partition specified: nowhere"),
        ("hydra.launcher.gpus_per_node=3", "Requested node configuration is not available"),
        ("hydra.launcher.cpus_per_task=17", "Requested node configuration is not available"),
    ],
)
def test_what_slurm_would_not_take_is_refused_before_anything_is_written(
    word: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*LONG, *LAUNCHER, word, "-m"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("andrea_exp: hydra/launcher=slurm: Slurm would not take these jobs: ")
    assert said in line
    assert tiny.files(tmp_path) == set()
