"""`results.json`: what was measured after training. Null stands for "does not apply", never 0."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from andrea_exp.atomic import write_atomically
from andrea_exp.component import Refusal

SCHEMA = 1
"""Version of the layout of results; it grows when a key changes its meaning or goes."""


def write_results(path: Path, results: Mapping[str, object]) -> None:
    """Write the results in one step, keys in their own order after `schema`.

    Floats are written so that reading gives the same bits. One that is not finite becomes null:
    nothing could be measured there.

    Args:
        path: the file.
        results: nested mappings with text keys, lists, texts, numbers, booleans and None.

    Raises:
        ValueError: another kind of value, say a tensor; the message names its place.
    """
    content = {"schema": SCHEMA, **{key: _plain(results[key], at=key) for key in results}}
    write_atomically(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_results(path: Path) -> dict[str, Any]:
    """The results of a file, `schema` included.

    Raises:
        Refusal: not results, or of another schema.
    """
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path} is not JSON: {error}") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise Refusal(
            f"{path} has schema {schema}, this version of andrea_exp reads {SCHEMA}; "
            "read it with the version that wrote it"
        )
    return content


def _plain(value: object, *, at: str) -> object:
    """The value as JSON can hold it."""
    if isinstance(value, Mapping):
        return {_key(key, at=at): _plain(inner, at=f"{at}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, at=f"{at}[{index}]") for index, inner in enumerate(value)]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise ValueError(f"results hold plain values; {at} is {type(value).__name__}: {value!r:.80}")


def _key(key: object, *, at: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"results have texts as keys; {at} has {key!r}")
    return key
