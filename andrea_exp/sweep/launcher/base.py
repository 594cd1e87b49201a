"""What a launcher is: it executes directories, and returns nothing, for they hold what came out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from andrea_exp.component import OptionConfig
from andrea_exp.config.run import RunConfig, SweepConfig
from andrea_exp.record.directory import RunDirectory


@dataclass(kw_only=True, frozen=True)
class LauncherConfig(OptionConfig, ABC):
    """One choice of `hydra/launcher`."""

    def executes_elsewhere(self) -> bool:
        """Whether other machines train, so that what this one lacks does not matter."""
        return False

    def threads_per_job(self) -> int | None:
        """What a job whose `runtime.threads` is null is frozen with; None leaves it null."""
        return None

    def reasons(self, jobs: Sequence[RunConfig], *, sweep: SweepConfig) -> list[str]:
        """Why these jobs cannot be launched so, asked before anything is written."""
        if sweep.wait:
            return []
        return [
            f"sweep.wait=false: hydra/launcher={self.name} executes the jobs itself and ends with "
            "the last; use hydra/launcher=slurm, or leave it out"
        ]

    @abstractmethod
    def launch(self, directories: Sequence[RunDirectory], *, sweep: SweepConfig) -> None:
        """Execute these directories, or hand them to a scheduler that will.

        Some may be finished, or in use, by the time that their turn comes. A failed job stops no
        other, unless `sweep.fail_fast`: then those that have not started stay pending.

        Raises:
            Refusal: nothing could be launched.
            KeyboardInterrupt: a person asked to stop; no process started here is left behind.
        """
