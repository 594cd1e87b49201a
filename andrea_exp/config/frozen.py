"""A checked request as the content of `config.yaml`, and back through the door."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from andrea_exp.claims.registration import claims_hash
from andrea_exp.component import Config, OptionConfig
from andrea_exp.config.door import open_door, recipe_values
from andrea_exp.config.request import Request
from andrea_exp.config.run import RunConfig
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.redact import redact


def recipe_hash(values: Mapping[str, Any]) -> str:
    """Twelve hex digits of SHA-256 over the recipe's resolved values."""
    text = json.dumps(recipe_values(values), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def freeze(request: Request) -> FrozenConfig:
    """What a run directory is made with; home directory as `~`, secrets masked."""
    exact, shown = _values(request.config, text=str), _values(request.config, text=redact)
    chosen = {group: name for group, name in request.composed.choices.items() if name is not None}
    return FrozenConfig(
        recipe_hash=recipe_hash(exact),
        choices=chosen,
        config=shown,
        claims_hash=claims_hash(shown),
    )


def _values(config: RunConfig, *, text: Callable[[str], str]) -> dict[str, Any]:
    """Typed values as the file and the hash have them, however they were written.

    Args:
        config: the values.
        text: what is done to free text. Names of options, and those in an Enum, are none.
    """
    return {**_plain(config.recipe, text=text), **_plain(config.running, text=text)}


def _plain(config: Config, *, text: Callable[[str], str]) -> dict[str, Any]:
    values = {
        field.name: _value(getattr(config, field.name), text=text)
        for field in dataclasses.fields(config)
    }
    return values | {"name": config.name} if isinstance(config, OptionConfig) else values


def _value(value: object, *, text: Callable[[str], str]) -> object:
    if isinstance(value, Config):
        return _plain(value, text=text)
    if isinstance(value, list):
        return [_value(item, text=text) for item in value]
    if isinstance(value, Enum):
        return value.name
    return text(value) if isinstance(value, str) else value


def thaw(frozen: FrozenConfig) -> RunConfig:
    """The typed configuration of a run directory.

    Raises:
        Refusal: this version of the program has other keys.
    """
    return open_door(frozen.config)
