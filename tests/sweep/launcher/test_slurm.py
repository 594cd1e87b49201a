"""From settings to what Slurm is asked, with programs in its place that only write down and answer.

What a real Slurm does with it stands in tests/slurm.
"""

import os
import re
import signal
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from andrea_exp.__main__ import main
from andrea_exp.component import Refusal
from andrea_exp.config.door import open_node
from andrea_exp.config.request import request
from andrea_exp.config.run import RunConfig, SweepConfig
from andrea_exp.record import slurm_queue
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.record.submission import Submission
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.train.config import Device
from tests.commands import tiny
from tests.options import CONF

Said = pytest.CaptureFixture[str]
SLURM = ("hydra/launcher=slurm", "name=s", "hydra.launcher.poll_s=0.05")
PROGRAMS = {
    "sbatch": """
case " $* " in *" --test-only "*) exec cat > tested;; esac
cp "$1" submitted; env > environment
printf '77_0|PENDING|Resources\\n77_1|PENDING|Resources\\n' > queue
echo Submitted batch job 77
""",
    "squeue": "echo $* >> asked; test ! -e deaf && cat queue",
    "scancel": "echo $* > cancelled; : > queue",
    "srun": "",
    "scontrol": "",
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, on a machine that has Slurm's commands."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name, script in PROGRAMS.items():
        program = bin_folder / name
        program.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "queue").touch()
    monkeypatch.setenv("PATH", f"{bin_folder}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sweep(*words: str) -> int:
    return main([*tiny.WORDS, *SLURM, *words, "-m"])


def options(script: Path) -> set[str]:
    """What a batch script asks for, paths aside."""
    found = re.findall(r"^#SBATCH --(.*)", script.read_text(encoding="utf-8"), re.MULTILINE)
    return {option for option in found if not option.startswith("output=")}


def test_settings_become_options_of_sbatch(place: Path) -> None:
    words = (
        "hydra.launcher.partition=short",
        "hydra.launcher.account=lab",
        "hydra.launcher.qos=high",
        "hydra.launcher.constraint=a100",
        "hydra.launcher.timeout_min=90",
        "hydra.launcher.signal_delay_s=30",
        "hydra.launcher.cpus_per_task=3",
        "hydra.launcher.mem_gb=1.5",
        "hydra.launcher.gpus_per_node=1",
        "hydra.launcher.array_parallelism=1",
        "hydra.launcher.setup=[module load cuda]",
        "+hydra.launcher.additional_parameters.reservation=course",
    )
    assert sweep("sweep.wait=false", "seed=0,1", *words) == 0
    assert options(place / "submitted") == {
        "account=lab",
        "array=0-1%1",
        "constraint=a100",
        "cpus-per-task=3",
        "gpus-per-node=1",
        "job-name=s",
        "mem=1536M",
        "nodes=1",
        "ntasks-per-node=1",
        "open-mode=append",
        "partition=short",
        "qos=high",
        "requeue",
        "reservation=course",
        "signal=USR2@30",
        "time=90",
    }
    script = (place / "submitted").read_text(encoding="utf-8")
    assert re.search(r"^module load cuda$", script, re.MULTILINE)
    assert re.search(r"^srun .* --cpus-per-task=3 ", script, re.MULTILINE)


def test_a_sweep_without_further_words(place: Path) -> None:
    assert sweep("sweep.wait=false", "hydra.launcher.mem_gb=null", "seed=0,1") == 0
    given = {option.partition("=")[0] for option in options(place / "submitted")}
    left = {"account", "constraint", "gpus-per-node", "mem", "partition", "qos", "wckey"}
    assert not given & left, "what is null is left to the cluster"
    assert (place / "tested").read_text() == (place / "submitted").read_text()
    for index, path in enumerate(tiny.runs(place, "s")):
        submission = Submission.of(run := RunDirectory(path))
        assert submission is not None
        assert (submission.launcher, submission.job_id) == ("slurm", f"77_{index}")
        assert submission.log_file(run) == path.parent / ".slurm" / f"77_{index}_0_log.out"


def test_what_is_in_the_queue_is_not_submitted_again(place: Path, capsys: Said) -> None:
    assert sweep("sweep.wait=false", "seed=0,1") == 0
    (place / "submitted").unlink()
    (place / "queue").write_text("77_0|RUNNING|None\n", encoding="utf-8")
    capsys.readouterr()
    assert sweep("sweep.wait=false", "seed=0,1") == 0
    said = capsys.readouterr().out
    assert ": running as 77_0\n" in said
    assert "array" not in (place / "submitted").read_text(encoding="utf-8")
    assert f"--user={os.getuid()}" in (place / "asked").read_text(encoding="utf-8")


def test_a_run_that_another_process_executes_is_left_alone(place: Path, capsys: Said) -> None:
    assert sweep("sweep.wait=false", "seed=0") == 0
    (place / "submitted").unlink()
    (place / "queue").write_text("", encoding="utf-8")
    with RunDirectory(tiny.only_run(place, "s")).lock():
        assert sweep("sweep.wait=false", "seed=0") == 0
    assert "left alone, another process executes it" in capsys.readouterr().out
    assert not (place / "submitted").exists()


def test_after_a_failure_what_has_not_started_is_cancelled(place: Path, capsys: Said) -> None:
    def fail() -> None:
        run = RunDirectory(tiny.runs(place, "s")[0])
        run.write_manifest(replace(run.manifest(), status=Status.failed))

    with once_it_waits(place, fail):
        assert sweep("sweep.fail_fast=true", "seed=0,1") == 1
    assert (place / "cancelled").read_text() == "--quiet --state=PENDING 77_1\n"
    assert "has not started is cancelled" in capsys.readouterr().out


def test_waiting_tells_states_and_jobs_that_never_ran(place: Path, capsys: Said) -> None:
    def end() -> None:
        (place / "outputs" / "s" / ".slurm" / "77_1_0_log.out").write_text("no such module\n")
        (place / "queue").write_text("", encoding="utf-8")

    with once_it_waits(place, end):
        assert sweep("seed=0,1") != 0
    said = capsys.readouterr().out
    assert "  2 pending (Resources)\n" in said
    assert "  2 ended\n" in said
    assert re.search(r"job 77_1 ended, and its run is pending; see .*/77_1_0_log.out\n", said)
    assert "job 77_0 ended" not in said


def test_ctrl_c_leaves_the_jobs_and_names_what_ends_them(place: Path, capsys: Said) -> None:
    with once_it_waits(place, lambda: os.kill(os.getpid(), signal.SIGINT)):
        assert sweep("seed=0,1") == 130
    assert "the jobs stay with Slurm; end them with: scancel 77\n" in capsys.readouterr().out
    assert not (place / "cancelled").exists()


@contextmanager
def once_it_waits(place: Path, act: Callable[[], None]) -> Generator[None]:
    """Do something when the queue has been looked at before the submission, and told after it."""
    over = threading.Event()

    def watch() -> None:
        asked = place / "asked"
        while not over.wait(0.01):
            if asked.exists() and len(asked.read_text(encoding="utf-8").splitlines()) > 2:
                act()
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_job_submitted_from_within_a_job_does_not_inherit_its_sizes(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"JOB_ID": "5", "MEM_PER_NODE": "100", "CONF": "/etc/here"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    assert sweep("sweep.wait=false") == 0
    lines = (place / "environment").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("SLURM_")] == ["SLURM_CONF=/etc/here"]
    assert os.environ["SLURM_MEM_PER_NODE"] == "100"


@pytest.fixture(scope="module")
def job() -> RunConfig:
    """A run that any launcher takes."""
    return request(tiny.WORDS).config


def reasons(job: RunConfig, **settings: object) -> list[str]:
    """Why that run is not taken, under settings that differ from those of slurm.yaml."""
    values = yaml.safe_load((CONF / "hydra" / "launcher" / "slurm.yaml").read_text("utf-8"))
    launcher = open_node(LauncherConfig, {**values, **settings}, path="hydra.launcher")
    return launcher.reasons([job], sweep=job.running.sweep)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"signal_delay_s": 3600}, "signal_delay_s=3600 must be shorter than timeout_min, 3600 s"),
        ({"timeout_min": 0}, "timeout_min must be at least 1, got 0"),
        ({"mem_gb": 0}, "mem_gb must be above 0, got 0"),
        ({"tasks": 2}, "unknown key hydra.launcher.tasks=2"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused(
    settings: dict[str, object], said: str, job: RunConfig
) -> None:
    with pytest.raises(Refusal, match=re.escape(said)):
        reasons(job, **settings)


@pytest.mark.usefixtures("place")
def test_nobody_watches_for_the_first_failure_without_waiting(job: RunConfig) -> None:
    (found,) = reasons(with_running(job, sweep=SweepConfig(fail_fast=True, wait=False)))
    assert "nobody watches the jobs" in found
    assert reasons(with_running(job, sweep=SweepConfig(fail_fast=True, wait=True))) == []
    assert reasons(with_running(job, sweep=SweepConfig(fail_fast=False, wait=False))) == []


@pytest.mark.usefixtures("place")
def test_a_run_needs_no_more_processors_than_its_job_has(job: RunConfig) -> None:
    many = with_running(job, runtime=replace(job.running.runtime, threads=4))
    (found,) = reasons(many, cpus_per_task=3)
    assert "need 4 processors, hydra.launcher.cpus_per_task=3; raise it" in found
    assert "or give runtime.threads=3" in found
    assert reasons(many, cpus_per_task=4) == []
    several = with_running(job, runtime=replace(job.running.runtime, threads=2, devices=2))
    assert len(reasons(several, cpus_per_task=3)) == 1
    assert reasons(several, cpus_per_task=4) == []


@pytest.mark.usefixtures("place")
def test_a_training_on_graphics_cards_gets_as_many(job: RunConfig) -> None:
    cuda = replace(job.running.runtime, device=Device.cuda)
    (found,) = reasons(with_running(job, runtime=cuda))
    assert "hydra.launcher.gpus_per_node=0; give hydra.launcher.gpus_per_node=1" in found
    assert reasons(with_running(job, runtime=cuda), gpus_per_node=1) == []
    two = with_running(job, runtime=replace(cuda, devices=2))
    assert len(reasons(two, gpus_per_node=1)) == 1
    assert reasons(two, gpus_per_node=2) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="for a machine without a CUDA device")
def test_graphics_cards_are_the_nodes_own_matter(place: Path, capsys: Said) -> None:
    words = ("hydra/launcher=slurm_gpu", "runtime.device=cuda", "sweep.wait=false")
    assert main([*tiny.WORDS, *SLURM[1:], *words, "-m"]) == 0
    assert "gpus-per-node=1" in options(place / "submitted")
    assert main([*tiny.WORDS, "runtime.device=cuda", "-m"]) == 2
    assert "sees no CUDA device here" in capsys.readouterr().err


@pytest.mark.usefixtures("place")
def test_a_folder_that_slurm_would_read_as_a_pattern_is_refused(job: RunConfig) -> None:
    (found,) = reasons(with_running(job, outputs="50%"))
    assert "Slurm reads % in the names of its logs" in found


@pytest.mark.parametrize("name", PROGRAMS)
def test_slurms_commands_must_be_there(
    name: str, job: RunConfig, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "bin" / name).unlink()
    monkeypatch.setenv("PATH", str(place / "bin"))
    (found,) = reasons(job)
    assert f"there is no {name} on this machine" in found


def with_running(job: RunConfig, **changes: Any) -> RunConfig:
    return replace(job, running=replace(job.running, **changes))


def test_what_slurm_says_to_a_wrong_request_is_passed_on(place: Path, capsys: Said) -> None:
    (place / "bin" / "sbatch").write_text("#!/bin/sh\necho invalid account >&2\nexit 1\n")
    assert sweep() == 2
    said = "hydra/launcher=slurm: Slurm would not take these jobs: invalid account"
    assert capsys.readouterr().err == f"andrea_exp: {said}\n"
    assert not (place / "outputs").exists()


def test_where_squeue_does_not_answer_nothing_is_submitted(place: Path, capsys: Said) -> None:
    (place / "deaf").touch()
    assert sweep() == 2
    assert "squeue does not answer; nothing was submitted" in capsys.readouterr().err
    assert not (place / "submitted").exists()
    assert slurm_queue.look() is None
