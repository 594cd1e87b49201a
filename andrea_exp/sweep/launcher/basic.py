"""`hydra/launcher=basic`: one job after the other, in this process."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from typing_extensions import override

from andrea_exp.config.run import SweepConfig
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from andrea_exp.sweep.launcher.base import LauncherConfig
from andrea_exp.sweep.worker import work


@final
@dataclass(kw_only=True, frozen=True)
class BasicLauncherConfig(LauncherConfig):
    """It has no settings."""

    @override
    def launch(self, directories: Sequence[RunDirectory], *, sweep: SweepConfig) -> None:
        for number, directory in enumerate(directories, start=1):
            print(f"[{number}/{len(directories)}] {directory.path.name}", flush=True)
            status = work(directory.path)
            stopped = status in (Status.interrupted, Status.preempted)
            if stopped or (sweep.fail_fast and status in (Status.failed, Status.nan)):
                return
