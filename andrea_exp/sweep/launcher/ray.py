"""`hydra/launcher=ray`: jobs on a Ray cluster whose machines share the file system, or on this one.

Ray only brings a directory to a machine with room for it. A worker that dies is started again by
Ray, and the job goes on from its last checkpoint.
"""

import importlib.util
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from typing_extensions import override

from andrea_exp.component import Refusal, at_least
from andrea_exp.config.run import RunConfig, SweepConfig
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.sweep.worker import work
from andrea_exp.train.config import Device

CONNECT_S = 5.0
"""How long an address may take to answer."""
PATIENCE_S = 60.0
"""How long an interrupted sweep waits for checkpoints."""


@final
@dataclass(kw_only=True, frozen=True)
class RayLauncherConfig(LauncherConfig):
    """A Ray cluster."""

    address: str | None
    """Of the cluster's head, `auto` for the one this machine belongs to; null starts Ray here."""
    num_cpus: int = field(metadata=at_least(1))
    """Cores of one job."""
    num_gpus: int = field(metadata=at_least(0))
    """GPUs of one job."""
    max_retries: int = field(metadata=at_least(0))
    """How often Ray starts a job again whose worker or machine died."""

    @override
    def threads_per_job(self) -> int | None:
        return self.num_cpus

    @override
    def reasons(self, jobs: Sequence[RunConfig], *, sweep: SweepConfig) -> list[str]:
        found = super().reasons(jobs, sweep=sweep)
        if importlib.util.find_spec("ray") is None:
            found.append("hydra/launcher=ray needs Ray: pip install 'andrea_exp[ray]'")
        found += _unreachable(self.address)
        runtimes = [job.running.runtime for job in jobs]
        most = max((each.threads or 1) * each.devices for each in runtimes)
        if most > self.num_cpus:
            found.append(
                f"a job has {most} threads and hydra.launcher.num_cpus={self.num_cpus}; give it as "
                "many cores"
            )
        gpus = max(each.devices * (each.device is Device.cuda) for each in runtimes)
        if gpus > self.num_gpus:
            found.append(
                f"a job needs {gpus} GPUs and hydra.launcher.num_gpus={self.num_gpus}; give it as "
                "many"
            )
        return found

    @override
    def launch(self, directories: Sequence[RunDirectory], *, sweep: SweepConfig) -> None:
        import ray  # an extra, which takes seconds

        try:
            ray.init(
                address=self.address,
                include_dashboard=False,
                log_to_driver=False,
                configure_logging=False,
            )
        except ConnectionError as error:
            raise Refusal(_no_answer(self.address)) from error
        try:
            self._execute(directories, fail_fast=sweep.fail_fast)
        finally:
            ray.shutdown()

    def _execute(self, directories: Sequence[RunDirectory], *, fail_fast: bool) -> None:
        import ray

        task: Any = ray.remote(
            num_cpus=self.num_cpus, num_gpus=self.num_gpus, max_retries=self.max_retries
        )(work)
        jobs = {task.remote(directory.path.absolute()): directory for directory in directories}
        waiting = list(jobs)
        try:
            while waiting:
                (ended,), waiting = ray.wait(waiting)
                # What it returns, or that it was lost, is in the directory as well.
                status = jobs[ended].shown_status()
                place = f"[{len(jobs) - len(waiting)}/{len(jobs)}]"
                print(f"{place} {status.name}  {jobs[ended].path.name}", flush=True)
                if fail_fast and status in (Status.failed, Status.nan):
                    waiting = _without_unstarted(waiting, jobs)
        except KeyboardInterrupt:
            for each in waiting:
                ray.cancel(each)  # a Ctrl-C in its worker: what trains leaves with a checkpoint
            ray.wait(waiting, num_returns=len(waiting), timeout=PATIENCE_S)
            raise


def _without_unstarted(waiting: Sequence[Any], jobs: Mapping[Any, RunDirectory]) -> list[Any]:
    """Cancel the tasks that no worker has taken up; the others."""
    import ray

    unstarted = [each for each in waiting if jobs[each].shown_status() is Status.pending]
    for each in unstarted:
        ray.cancel(each)
    return [each for each in waiting if each not in unstarted]


def _unreachable(address: str | None) -> list[str]:
    """Ray itself would try an address that does not answer for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or "://" in host or not port.isdecimal():
        return []
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
    except OSError:
        return [_no_answer(address)]
    return []


def _no_answer(address: str | None) -> str:
    return (
        f"hydra.launcher.address={address}: no Ray cluster answers; start one with "
        "`ray start --head`, or give hydra.launcher.address=null"
    )
