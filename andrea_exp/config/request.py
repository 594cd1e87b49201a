"""A command line, composed and typed: what every command starts from."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from andrea_exp.component import Refusal, path_fields
from andrea_exp.config.claimed import check_claims
from andrea_exp.config.compose import Composed, compose
from andrea_exp.config.door import open_door, option_class
from andrea_exp.config.run import RunConfig
from andrea_exp.data.base import DataConfig


@dataclass(kw_only=True, frozen=True)
class Request:
    """One run as it was asked for."""

    composed: Composed
    config: RunConfig


def request(overrides: Sequence[str]) -> Request:
    """The typed configuration of a command line.

    Raises:
        Refusal: something in it is wrong; nothing has been built or written.
    """
    return typed(compose(overrides))


def typed(composed: Composed) -> Request:
    """The typed configuration of composed values.

    Data with ids of their own are left untokenized, and the paths of data no longer depend on the
    current directory, since a frozen run may be executed from another one.
    """
    cls = option_class(DataConfig, composed.values["data"].get("name"), path="data")
    settled = _without_tokenizer(composed) if cls.has_own_ids() else composed
    data = {
        key: _absolute(value) if key in path_fields(cls) else value
        for key, value in settled.values["data"].items()
    }
    settled = replace(settled, values={**settled.values, "data": data})
    config = open_door(settled.values)
    check_claims(config, grid=settled.grid, values=settled.values)
    return Request(composed=settled, config=config)


def _absolute(value: object) -> object:
    """A path, or each of a list, as seen from anywhere; the home directory is written as `~`."""
    if isinstance(value, list):
        return [_absolute(inner) for inner in value]
    if not isinstance(value, str) or value.startswith("~") or not value:
        return value
    path = Path(os.path.abspath(value))  # noqa: PTH100 -- `resolve` would follow links
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _without_tokenizer(composed: Composed) -> Composed:
    if composed.speaks_of("tokenizer"):
        raise Refusal(
            f"data={composed.choices['data']} has ids of its own: leave out tokenizer=, "
            "or choose a data set of text"
        )
    return replace(
        composed,
        values={**composed.values, "tokenizer": None},
        choices={**composed.choices, "tokenizer": None},
    )
