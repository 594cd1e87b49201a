"""Hydra composes `conf/` and the command line into plain values; its complaints become refusals."""

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hydra import compose as hydra_compose
from hydra import initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import ROOT_FILE, conf_directory
from andrea_exp.config.explain import explain, refuse_other_keys


@dataclass(kw_only=True, frozen=True)
class Composed:
    """What Hydra made of one command line."""

    values: Mapping[str, Any]
    """Resolved plain values, without Hydra's own node."""
    choices: Mapping[str, str | None]
    """Group -> chosen option, as it was written."""
    overrides: Sequence[str]
    """What the command line said beyond the defaults."""
    grid: Mapping[str, Sequence[str]]
    """What an experiment sweeps over: key -> values, its seeds among them."""

    def speaks_of(self, group: str) -> bool:
        """Whether the command line speaks of this group or of a key inside."""
        words = [word.lstrip("+~").partition("=")[0] for word in self.overrides]
        return any(word == group or word.startswith((f"{group}.", f"{group}@")) for word in words)


@contextmanager
def hydra_ready() -> Generator[None]:
    """Hydra with `conf/` as its folder; its global state is at the end what it was before.

    A sweep may be expanding around it, with a Hydra of its own.
    """
    with (
        _aside(),
        initialize_config_dir(
            config_dir=str(conf_directory()), job_name="andrea_exp", version_base="1.3"
        ),
        own_launchers(),
    ):
        yield


@contextmanager
def _aside() -> Generator[None]:
    """Whatever Hydra is there is away in the block."""
    there = GlobalHydra.instance()
    around, there.hydra = there.hydra, None
    try:
        yield
    finally:
        GlobalHydra.instance().hydra = around


@contextmanager
def own_launchers() -> Generator[None]:
    """`hydra/launcher` is one of `conf/`: Hydra would merge its own and a plugin's into those."""
    Plugins.instance()  # registers them
    group = ConfigStore.instance().repo["hydra"]
    others = group.pop("launcher", {})
    try:
        yield
    finally:
        group["launcher"] = others


def compose(overrides: Sequence[str]) -> Composed:
    """The values of one run.

    Raises:
        Refusal: an override is wrong; the message names the nearest that would work.
    """
    with hydra_ready():
        return compose_ready(overrides)


def compose_ready(overrides: Sequence[str]) -> Composed:
    """`compose` inside `hydra_ready`, for many calls in a row."""
    try:
        refuse_other_keys(overrides)
        config = hydra_compose(ROOT_FILE, overrides=list(overrides), return_hydra_config=True)
        hydra = config.hydra
        grid = {key: _values_of(key, words) for key, words in experiment_grid(config).items()}
        with open_dict(config):
            del config["hydra"]
        values = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        raise Refusal(explain(error, overrides)) from error
    assert isinstance(values, dict)
    if values["seed"] is None:
        values["seed"] = secrets.randbelow(2**31)
    choices = {
        group.partition("@")[0]: option
        for group, option in hydra.runtime.choices.items()
        if not group.startswith("hydra/")
    }
    return Composed(
        values={str(key): value for key, value in values.items()},
        choices=dict(sorted(choices.items())),
        overrides=list(hydra.overrides.task),
        grid=grid,
    )


def experiment_grid(config: DictConfig) -> dict[str, str]:
    """What an experiment sweeps over, as words of the command line; its planned seeds are part.

    Raises:
        Refusal: the seeds are no list.
    """
    if not isinstance(config.seeds, ListConfig):
        raise Refusal(f"seeds={config.seeds} must be a list, such as seeds=[0,1,2]")
    grid = dict(config.hydra.sweeper.get("params") or {})
    seeds = {"seed": ",".join(str(seed) for seed in config.seeds)} if config.seeds else {}
    return grid | seeds


def _values_of(key: str, words: str) -> list[str]:
    override = OverridesParser.create().parse_override(f"{key}={words}")
    if override.is_discrete_sweep():
        return [str(value) for value in override.sweep_string_iterator()]
    return [words]
