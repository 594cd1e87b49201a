"""Whether values read from a file have the types that a dataclass declares."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints


def misfits(record: object) -> list[str]:
    """The fields of a dataclass whose values are not of their type."""
    hints = _hints(type(record))
    return [name for name, hint in hints.items() if not _fits(getattr(record, name), hint)]


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    """The declared types; found once, since a report reads a thousand manifests."""
    return get_type_hints(kind)


def _fits(value: object, hint: Any) -> bool:
    if hint is Any:
        return True
    origin, parts = get_origin(hint), get_args(hint)
    if origin is UnionType:
        return any(_fits(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(each, parts[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            _fits(key, parts[0]) and _fits(inner, parts[1]) for key, inner in value.items()
        )
    if is_dataclass(value):
        return isinstance(value, hint) and not misfits(value)
    return isinstance(value, hint) and not (hint is int and isinstance(value, bool))
