"""`results.json`: what was measured after training. Null stands for "does not apply", never 0."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Never, final

from andrea_exp.atomic import write_atomically
from andrea_exp.component import Refusal

SCHEMA = 1
"""Version of the layout of results; it grows when a key changes its meaning or goes."""


class IncompleteResults(Refusal):
    """A file of results lacks a key that is needed."""

    def __init__(self, file: Path, key: str) -> None:
        super().__init__(
            f"{file} lacks {key}; remove the file, and executing the directory again by "
            "andrea_exp.job writes it anew"
        )
        self.file = file


@final
class Part(dict[str, Any]):
    """A part of a file of results. Asked for a key that it lacks, it names file and place.

    `get` answers as that of any mapping: some keys are newer than some files of this schema.
    """

    __slots__ = ("source",)
    source: "_Source"

    @property
    def file(self) -> Path:
        """The file that it comes from."""
        return self.source.file

    def __missing__(self, key: str) -> Never:
        place = next(_places(self.source.content, of=self), "")
        raise IncompleteResults(self.file, f"{place}.{key}".removeprefix("."))


@final
class _Source:
    """A file while its parts are made: a report reads a million, so none knows its own place."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.content: Any = None

    def part(self, content: dict[str, Any]) -> Part:
        part = Part(content)
        part.source = self
        return part


def _places(content: Any, *, of: Part, at: str = "") -> Iterator[str]:
    """Where a part lies in the content of its file, as `.lengths[0]`."""
    if content is of:
        yield at
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield from _places(value, of=of, at=f"{at}.{key}")
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield from _places(value, of=of, at=f"{at}[{index}]")


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


def read_results(path: Path) -> Part:
    """The results of a file, `schema` included.

    Raises:
        Refusal: not results, or of another schema.
    """
    source = _Source(path)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"), object_hook=source.part)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Refusal(f"{path} is not JSON: {error}") from error
    schema = content.get("schema") if isinstance(content, Part) else None
    if not isinstance(content, Part) or schema != SCHEMA:
        raise Refusal(
            f"{path} has schema {schema}, this version of andrea_exp reads {SCHEMA}; "
            "read it with the version that wrote it"
        )
    source.content = content
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
