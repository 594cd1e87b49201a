"""A command line, composed and typed: what every command starts from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from andrea_exp.component import Refusal
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
    """The typed configuration of composed values, data with ids of their own left untokenized."""
    settled = _without_tokenizer(composed) if _has_own_ids(composed.values) else composed
    return Request(composed=settled, config=open_door(settled.values))


def _has_own_ids(values: Mapping[str, Any]) -> bool:
    data = values["data"]
    return option_class(DataConfig, data.get("name"), path="data").has_own_ids()


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
