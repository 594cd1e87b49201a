"""A run without what tells who made it and where; what was measured stays."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from andrea_exp.record.manifest import Failure
from andrea_exp.record.reader import RunRecord, Survey, UnreadableRun

WITHHELD = "(withheld)"
CHOSEN_BY_PEOPLE = ("name", "outputs", "question", "logger", "hydra")
"""Keys, and groups of keys, whose values are anybody's own words: no part of a recipe."""

_OF_FILES = re.compile(r"(?:\b|_)(?:path|files)$")


def anonymous(found: Survey) -> Survey:
    """The runs without commit, names of folders, paths, accounts and the words of errors.

    Recipe, seed, versions, kind of processor and all numbers stay. A directory is called after
    the recipe's hash.
    """
    return Survey(
        [_record(record) for record in found.records],
        [UnreadableRun(path=Path(), name=WITHHELD, reason=WITHHELD) for _ in found.unreadable],
    )


def _record(record: RunRecord) -> RunRecord:
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
                if _root(word) not in CHOSEN_BY_PEOPLE
            ],
            git=None,
            wandb=None,
            failure=failure and Failure(type=failure.type, message=WITHHELD),
        ),
    )


def _root(word: str) -> str:
    """The first part of an override's key: `logger` of `logger.project=x` and `logger=wandb`."""
    return re.split(r"[=./@]", word.lstrip("+~"), maxsplit=1)[0]


def _without_paths(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _without_paths(value) if isinstance(value, Mapping) else _value(key, value)
        for key, value in values.items()
    }


def _override(word: str) -> str:
    """An override; a path in its value is withheld, while a key may have slashes."""
    key, sign, value = word.partition("=")
    return f"{key}{sign}{_value(key, value)}"


def _value(key: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_value(key, inner) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    names_a_file = _OF_FILES.search(key) or any(sign in value for sign in "/\\~")
    return WITHHELD if names_a_file else value
