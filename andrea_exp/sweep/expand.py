"""Hydra's sweeper turns a command line into batches of jobs, for the caller to execute."""

import tempfile
from collections.abc import Callable, Sequence
from typing import Any, final

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import ROOT_FILE
from andrea_exp.config.compose import explain

BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"

Batch = Sequence[Sequence[str]]
"""The override words of each job."""


def expand(overrides: Sequence[str], *, execute: Callable[[Batch], None]) -> None:
    """Hand every batch of jobs that the sweeper makes to `execute`. Call inside `hydra_ready`.

    Raises:
        Refusal: the grid is wrong, or asks for a launcher that is not served.
    """
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    with tempfile.TemporaryDirectory() as scratch:
        words = [*overrides, f"hydra.sweep.dir={scratch}"]
        try:
            config = hydra.compose_config(
                config_name=ROOT_FILE, overrides=words, run_mode=RunMode.MULTIRUN
            )
            launcher = config.hydra.launcher.get("_target_")
            if launcher != BASIC_LAUNCHER:
                raise Refusal(
                    f"hydra/launcher: {launcher} is not served; leave it out, and jobs run one by "
                    "one here"
                )
            context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks())
            sweeper: Any = Plugins.instance().instantiate_sweeper(
                hydra_context=context, task_function=_never_called, config=config
            )
            sweeper.launcher = _Handover(execute)
            # The jobs are composed and checked by `execute`; once is enough.
            sweeper.validate_batch_is_legal = _accept
            sweeper.sweep(arguments=list(config.hydra.overrides.task))
        except (HydraException, OmegaConfBaseException) as error:
            raise Refusal(explain(error, overrides, in_sweep=True)) from error


@final
class _Handover(Launcher):
    """Stands where Hydra expects a launcher and passes each batch on."""

    def __init__(self, execute: Callable[[Batch], None]) -> None:
        self._execute = execute

    @override
    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Nothing to set up."""

    @override
    def launch(self, job_overrides: Batch, initial_job_idx: int) -> Sequence[JobReturn]:
        self._execute(job_overrides)
        done = JobReturn(status=JobStatus.COMPLETED)
        done.return_value = None
        return [done] * len(job_overrides)


def _accept(batch: Batch) -> None:
    """Hydra's own validation would compose each job a second time."""


def _never_called(config: Any) -> None:
    """Hydra wants a task function; jobs are executed from their directories instead."""
