"""`hydra/launcher=slurm`: the jobs of a sweep as one array on a Slurm cluster.

A job is one task on one node; a training on several devices starts its processes itself.
"""

import importlib.util
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from typing_extensions import override

from andrea_exp.component import Refusal, above, at_least
from andrea_exp.config.run import RunConfig, SweepConfig
from andrea_exp.record import slurm_queue
from andrea_exp.record.directory import RunDirectory
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.train.config import Device, RuntimeConfig

if TYPE_CHECKING:
    from andrea_exp.sweep.slurm.submit import Submitter

PROGRAMS = ("sbatch", "srun", "squeue", "scancel", "scontrol")
"""What a machine from which jobs are submitted must have."""


@final
@dataclass(kw_only=True, frozen=True)
class SlurmLauncherConfig(LauncherConfig):
    """What each job asks of Slurm. What is null is left to the cluster."""

    partition: str | None
    """Queue."""
    account: str | None
    """Who pays."""
    qos: str | None
    """Quality of service."""
    constraint: str | None
    """Features that the node must have."""
    timeout_min: int = field(metadata=at_least(1))
    """Minutes after which a job stops; it is then requeued and goes on."""
    max_num_timeout: int = field(metadata=at_least(0))
    """How often; after that it stays preempted, and the same sweep command goes on with it."""
    signal_delay_s: int = field(metadata=at_least(1))
    """Seconds before that limit at which the run is asked to leave a checkpoint."""
    cpus_per_task: int = field(metadata=at_least(1))
    """Processors of a job, and its threads where `runtime.threads` is null."""
    mem_gb: float | None = field(metadata=above(0))
    """Memory of a job, 2^30 bytes."""
    gpus_per_node: int = field(metadata=at_least(0))
    """Graphics cards of a job."""
    array_parallelism: int = field(metadata=at_least(1))
    """Most jobs of a sweep that run at once."""
    setup: list[str]
    """Lines of shell before the run, such as `module load cuda`."""
    additional_parameters: dict[str, Any]
    """Further options of sbatch: long name -> value."""
    poll_s: float = field(metadata=above(0))
    """Seconds between two looks at the queue while the sweep waits."""

    def __post_init__(self) -> None:
        """Check that the warning comes after the start."""
        super().__post_init__()
        if self.signal_delay_s >= 60 * self.timeout_min:
            raise ValueError(
                f"signal_delay_s={self.signal_delay_s} must be shorter than timeout_min, "
                f"{60 * self.timeout_min} s"
            )

    @override
    def executes_elsewhere(self) -> bool:
        return True

    @override
    def threads_per_job(self) -> int:
        return self.cpus_per_task

    @override
    def reasons(self, jobs: Sequence[RunConfig], *, sweep: SweepConfig) -> list[str]:
        """Slurm itself is asked last, and only whether it would take the jobs."""
        found = _missing()
        if sweep.fail_fast and not sweep.wait:
            found.append(
                "sweep.fail_fast=true: nobody watches the jobs under sweep.wait=false; "
                "leave one of them out"
            )
        runtimes = [job.running.runtime for job in jobs]
        found += dict.fromkeys(reason for each in runtimes for reason in self._too_small(each))
        home = Path(jobs[0].running.outputs, jobs[0].running.name)
        if "%" in str(home.absolute()):
            found.append(
                f"outputs={home.absolute()}: Slurm reads % in the names of its logs as a pattern; "
                "choose another folder"
            )
        return found or self._submitter(home).reasons(len(jobs))

    @override
    def launch(self, directories: Sequence[RunDirectory], *, sweep: SweepConfig) -> None:
        """Submit what is neither queued nor running, and wait for all if `sweep.wait`.

        Raises:
            KeyboardInterrupt: a person stopped waiting; the jobs stay with Slurm.
        """
        from andrea_exp.sweep.slurm.follow import ending, follow

        queue = slurm_queue.look()
        if queue is None:
            raise Refusal("hydra/launcher=slurm: squeue does not answer; nothing was submitted")
        known = slurm_queue.places(directories, queue)
        fresh = [run for run in directories if run not in known and not run.is_locked()]
        jobs = {job_id: run for run, job_id in known.items()}
        for run in directories:
            if run in known:
                print(f"{run.path.name}: {slurm_queue.told(known[run], queue[known[run]])}")
            elif run not in fresh:
                print(f"{run.path.name}: left alone, another process executes it")
        if fresh:
            submitter = self._submitter(fresh[0].path.parent)
            submitted = submitter.submit(fresh, launcher=self.name)
            jobs |= zip(submitted, fresh, strict=True)
            ids = " to ".join(dict.fromkeys([submitted[0], submitted[-1]]))
            print(f"submitted {ids}; logs in {submitter.folder}")
        if jobs:
            print(f"end them with: {ending(jobs)}", flush=True)
        if jobs and sweep.wait:
            follow(jobs, poll_s=self.poll_s, fail_fast=sweep.fail_fast)

    def _too_small(self, runtime: RuntimeConfig) -> Iterable[str]:
        """What a run needs, and its job would not get."""
        needed = (runtime.threads or 1) * runtime.devices
        if needed > self.cpus_per_task:
            yield (
                f"runtime.threads={runtime.threads} on runtime.devices={runtime.devices} need "
                f"{needed} processors, hydra.launcher.cpus_per_task={self.cpus_per_task}; raise "
                f"it, or give runtime.threads={max(1, self.cpus_per_task // runtime.devices)}"
            )
        if runtime.device is Device.cuda and runtime.devices > self.gpus_per_node:
            yield (
                f"runtime.device=cuda with runtime.devices={runtime.devices}, but "
                f"hydra.launcher.gpus_per_node={self.gpus_per_node}; give "
                f"hydra.launcher.gpus_per_node={runtime.devices}, or use runtime=cpu"
            )

    def _submitter(self, home: Path) -> "Submitter":
        from andrea_exp.sweep.slurm.submit import Submitter

        return Submitter(
            home, parameters=self._parameters(home.name), max_num_timeout=self.max_num_timeout
        )

    def _parameters(self, name: str) -> dict[str, Any]:
        """As submitit names them; what is None is not said to Slurm."""
        return {
            "job_name": name,
            "partition": self.partition,
            "account": self.account,
            "qos": self.qos,
            "constraint": self.constraint,
            "time": self.timeout_min,
            "signal_delay_s": self.signal_delay_s,
            "ntasks_per_node": 1,
            "cpus_per_task": self.cpus_per_task,
            # Since 22.05 a step no longer has its job's processors by itself.
            "srun_args": [f"--cpus-per-task={self.cpus_per_task}"],
            "mem": None if self.mem_gb is None else f"{round(1024 * self.mem_gb)}M",
            "gpus_per_node": self.gpus_per_node or None,
            "array_parallelism": self.array_parallelism,
            "setup": self.setup,
            "stderr_to_stdout": True,
            "wckey": None,
            "additional_parameters": {"requeue": True, **self.additional_parameters},
        }


def _missing() -> list[str]:
    found: list[str] = []
    if importlib.util.find_spec("submitit") is None:
        found.append(
            "hydra/launcher=slurm: submitit is not installed; pip install 'andrea_exp[cluster]' "
            "does it"
        )
    if absent := [name for name in PROGRAMS if shutil.which(name) is None]:
        found.append(
            f"hydra/launcher=slurm: there is no {', '.join(absent)} on this machine; start the "
            "sweep where the cluster's jobs are submitted"
        )
    return found
