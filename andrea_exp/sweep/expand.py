"""Hydra's sweeper turns a command line into batches of jobs, for the caller to execute."""

import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from hydra._internal.callbacks import Callbacks
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, RunMode, TaskFunction
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import ROOT_FILE
from andrea_exp.config.compose import experiment_grid
from andrea_exp.config.explain import explain, refuse_other_keys

BASIC_LAUNCHER = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"
BASIC_SWEEPER = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"


@final
@dataclass(kw_only=True, frozen=True)
class Batch:
    """Jobs that a sweeper wants executed before it goes on."""

    jobs: Sequence[Sequence[str]]
    """The override words of each."""
    launcher: Mapping[str, Any]
    """The composed values of `hydra/launcher`."""
    searching: bool
    """Whether what came out decides which jobs come next; then one may come twice."""
    fixed: Collection[str]
    """Words of a search that are the same in every batch."""


def expand(overrides: Sequence[str], *, execute: Callable[[Batch], Sequence[float | None]]) -> None:
    """Hand every batch of jobs that the sweeper makes to `execute`. Call inside `hydra_ready`.

    A grid is one batch. A sweeper that searches gets back what `execute` found for each job, the
    value to be minimised or maximised, or None.

    Raises:
        Refusal: the grid is wrong.
    """
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    with tempfile.TemporaryDirectory() as scratch:
        words = [*overrides, f"hydra.sweep.dir={scratch}"]
        try:
            refuse_other_keys(overrides)
            config = hydra.compose_config(
                config_name=ROOT_FILE, overrides=words, run_mode=RunMode.MULTIRUN
            )
            grid = config.hydra.sweeper.get("_target_") == BASIC_SWEEPER
            if config.seeds:
                config.hydra.sweeper.params = experiment_grid(config)
            if grid:
                config.hydra.sweeper.max_batch_size = None  # all are checked before one starts
            # What optuna 2 stores with is pinned, so its advice to pin it is not for the user.
            os.environ.setdefault("SQLALCHEMY_SILENCE_UBER_WARNING", "1")
            if "max_failure_rate" in config.hydra.sweeper:
                config.hydra.sweeper.max_failure_rate = 1.0  # a failed job stops no other
            launcher = OmegaConf.to_container(config.hydra.launcher, resolve=True)
            assert isinstance(launcher, dict)
            config.hydra.launcher = {"_target_": BASIC_LAUNCHER}  # is built, and replaced below
            context = HydraContext(config_loader=hydra.config_loader, callbacks=Callbacks())
            sweeper: Any = Plugins.instance().instantiate_sweeper(
                hydra_context=context, task_function=_never_called, config=config
            )
            handover = _Handover(
                execute,
                launcher={str(key): value for key, value in launcher.items()},
                fixed=frozenset() if grid else frozenset(overrides),
            )
            # One that searches is a shell around the sweeper that launches.
            for part in (sweeper, getattr(sweeper, "sweeper", sweeper)):
                part.launcher = handover
            # The jobs are composed and checked by `execute`; once is enough.
            sweeper.validate_batch_is_legal = _accept
            try:
                sweeper.sweep(arguments=list(config.hydra.overrides.task))
            except ValueError:
                if grid or handover.found_something:
                    raise  # else: a search has no best trial where every one failed
        except (HydraException, OmegaConfBaseException) as error:
            raise Refusal(explain(error, overrides, in_sweep=True)) from error


@final
class _Handover(Launcher):
    """Stands where Hydra expects a launcher and passes each batch on."""

    def __init__(
        self,
        execute: Callable[[Batch], Sequence[float | None]],
        *,
        launcher: Mapping[str, Any],
        fixed: Collection[str],
    ) -> None:
        self._execute = execute
        self._launcher = launcher
        self._fixed = fixed
        self.found_something = False

    @override
    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        """Nothing to set up."""

    @override
    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        batch = Batch(
            jobs=job_overrides,
            launcher=self._launcher,
            searching=bool(self._fixed),
            fixed=self._fixed,
        )
        values = self._execute(batch)
        self.found_something |= any(value is not None for value in values)
        return [_returned(value) for value in values]


def _returned(value: float | None) -> JobReturn:
    """What a sweeper reads: the run's own failure is in its record, and its value is None."""
    answer = JobReturn(status=JobStatus.COMPLETED)
    answer.return_value = value
    return answer


def _accept(batch: Sequence[Sequence[str]]) -> None:
    """Hydra's own validation would compose each job a second time."""


def _never_called(_config: Any) -> None:
    """Hydra wants a task function; jobs are executed from their directories instead."""
    raise AssertionError("the sweeper launched a job past the handover")
