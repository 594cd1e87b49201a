"""A checked request as the content of `config.yaml`, and back through the door."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from andrea_exp.component import Config
from andrea_exp.config.door import open_door, recipe_values
from andrea_exp.config.request import Request
from andrea_exp.config.run import RunConfig
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.redact import redacted


def recipe_hash(values: Mapping[str, Any]) -> str:
    """Twelve hex digits of SHA-256 over the recipe's resolved values."""
    text = json.dumps(recipe_values(values), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def freeze(request: Request) -> FrozenConfig:
    """What a run directory is made with; home directory as `~`, secrets masked."""
    values = {**_plain(request.config.recipe), **_plain(request.config.running)}
    chosen = {group: name for group, name in request.composed.choices.items() if name is not None}
    return FrozenConfig(recipe_hash=recipe_hash(values), choices=chosen, config=redacted(values))


def _plain(config: Config) -> dict[str, Any]:
    """Typed values as the file and the hash have them, however they were written."""
    return dataclasses.asdict(config, dict_factory=_with_names)


def _with_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: _named(value) for key, value in pairs}


def _named(value: object) -> object:
    if isinstance(value, list):
        return [_named(item) for item in value]
    return value.name if isinstance(value, Enum) else value


def thaw(frozen: FrozenConfig) -> RunConfig:
    """The typed configuration of a run directory.

    Raises:
        Refusal: this version of the program has other keys.
    """
    return open_door(frozen.config)
