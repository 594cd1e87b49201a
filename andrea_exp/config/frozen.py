"""A checked request as the content of `config.yaml`, and back through the door."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

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
    values = request.composed.values
    chosen = {group: name for group, name in request.composed.choices.items() if name is not None}
    return FrozenConfig(recipe_hash=recipe_hash(values), choices=chosen, config=redacted(values))


def thaw(frozen: FrozenConfig) -> RunConfig:
    """The typed configuration of a run directory.

    Raises:
        Refusal: this version of the program has other keys.
    """
    return open_door(frozen.config)
