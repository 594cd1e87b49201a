"""A run without what tells who made it and where; what was measured stays."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from andrea_exp.record.manifest import Failure
from andrea_exp.record.reader import RunRecord

WITHHELD = "(withheld)"
CHOSEN_BY_PEOPLE = ("name", "outputs", "question")
"""Keys whose values are anybody's own words."""


def anonymous(record: RunRecord) -> RunRecord:
    """The record without commit, names of folders, paths and the words of errors.

    Recipe, seed, versions, kind of processor and all numbers stay. The directory is called after
    the recipe's hash.
    """
    manifest = record.manifest
    failure = manifest.failure
    return replace(
        record,
        path=Path(),
        name=record.recipe_hash,
        config={
            key: value
            for key, value in _without_paths(record.config).items()
            if key not in CHOSEN_BY_PEOPLE
        },
        manifest=replace(
            manifest,
            argv=[],
            overrides=[
                _override(word)
                for word in manifest.overrides
                if word.lstrip("+~").partition("=")[0] not in CHOSEN_BY_PEOPLE
            ],
            git=None,
            wandb=None,
            failure=failure and Failure(type=failure.type, message=WITHHELD),
        ),
    )


def _without_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_paths(value) if isinstance(value, Mapping) else _value(value)
        for key, value in values.items()
    }


def _override(word: str) -> str:
    """An override; a path in its value is withheld, while a key may have slashes."""
    key, sign, value = word.partition("=")
    return f"{key}{sign}{_value(value)}"


def _value(value: Any) -> Any:
    looks_like_path = isinstance(value, str) and any(sign in value for sign in "/\\~")
    return WITHHELD if looks_like_path else value
