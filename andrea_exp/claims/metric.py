"""The numbers a claim can speak of: those of an evaluated length, and paths in `results.json`."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from andrea_exp.evaluate.length_row import LengthRow
from andrea_exp.evaluate.results import Results


def length_metrics() -> list[str]:
    """The measured numbers of one length."""
    hints = typing.get_type_hints(LengthRow)
    return [
        field.name
        for field in dataclasses.fields(LengthRow)
        if float in typing.get_args(hints[field.name])
    ]


def metric_error(key: str, metric: str, *, of_length: bool) -> str:
    """What is wrong with a metric; empty if it is one."""
    if of_length:
        names = length_metrics()
        if metric in names:
            return ""
        return f"{key}={metric} is no number of a length: {', '.join(names)}"
    return _path_error(key, metric)


def number_at(results: Mapping[str, Any], path: str) -> float | None:
    """The number at a path of the results; None where nothing was measured."""
    found: Any = results
    for part in path.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) else None


def _path_error(key: str, path: str) -> str:
    hint: Any = Results
    for part in path.split("."):
        cls = _record(hint)
        if cls is None or part not in (hints := typing.get_type_hints(cls)):
            known = ", ".join(typing.get_type_hints(cls)) if cls is not None else "none"
            return f"{key}={path}: results.json has no {part!r} there; keys: {known}"
        hint = hints[part]
    if _kinds(hint) & {int, float}:
        return ""
    return f"{key}={path} is no number of results.json"


def _record(hint: Any) -> Any:
    """The dataclass in a type; None if there is none."""
    return next((kind for kind in _kinds(hint) if dataclasses.is_dataclass(kind)), None)


def _kinds(hint: Any) -> set[Any]:
    """The alternatives of a type; lists and mappings are none of their own elements."""
    return set(typing.get_args(hint) or [hint]) if typing.get_origin(hint) is not list else set()
