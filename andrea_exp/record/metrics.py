"""`metrics.jsonl`: one line per logged step, only ever appended; the record of truth of a training.

JSON has no numbers that are not finite, so they are written as the texts NaN, Infinity, -Infinity.
"""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from andrea_exp.component import Refusal
from andrea_exp.disk import writing

Row = dict[str, float | int | None]
"""One logged step; `step` is always there."""

_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def is_time_column(name: str) -> bool:
    """Whether a column depends on the clock, so that equal runs differ in it: its unit is `_s`."""
    return name.endswith("_s")


@final
class MetricsFile:
    """The file, open for appending. One writer at a time: the holder of the directory's lock.

    A last line that a crash cut short is removed on opening. Steps that are recorded already are
    not written again: a resumed run repeats those after its checkpoint, with equal numbers.
    """

    def __init__(self, path: Path) -> None:
        """Open it for appending; it is made if need be.

        Raises:
            Refusal: it has a line that is not a row, other than a last one that was cut short.
            DiskFull: there is no room for it.
        """
        if path.exists():
            _cut_unfinished_line(path)
        try:
            rows = read_metrics(path) if path.exists() else []
        except ValueError as error:
            raise Refusal(
                f"{error}; mend that line, or move the file away and go on without its rows"
            ) from error
        self._path = path
        self._last_step = max((_step(row) for row in rows), default=None)
        with writing(path):
            self._file = path.open("ab", buffering=0)

    @property
    def last_step(self) -> int | None:
        """The last recorded step; None while there is none."""
        return self._last_step

    def append(self, row: Mapping[str, float | int | None]) -> bool:
        """Write and flush one line, unless its step is at most the last one recorded.

        Args:
            row: has `step`, a whole number.

        Returns:
            Whether it was written.

        Raises:
            ValueError: the row has no step, or a value that is no number.
            DiskFull: there was no room; no part of the line is left in the file.
        """
        step = _step(row)
        if self._last_step is not None and step <= self._last_step:
            return False
        line = json.dumps({name: _written(name, value) for name, value in row.items()})
        with writing(self._path):
            self._write(f"{line}\n".encode())
        self._last_step = step
        return True

    def _write(self, line: bytes) -> None:
        before = os.fstat(self._file.fileno()).st_size
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError:
            os.ftruncate(self._file.fileno(), before)
            raise

    def close(self) -> None:
        """Close the file, on the disk."""
        with self._file, writing(self._path):
            os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_metrics(path: Path) -> list[Row]:
    """Every complete row, in order; a last line that is still being written is passed over.

    Raises:
        ValueError: another line is not a row; the message has its number.
    """
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last newline is unfinished
    return [_parsed(line, source=f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def _cut_unfinished_line(path: Path) -> None:
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    if end < len(content):
        os.truncate(path, end)


def _step(row: Mapping[str, float | int | None]) -> int:
    step = row.get("step")
    if not isinstance(step, int):
        raise ValueError(f"a row needs a whole number as its step, got {step!r}")
    return step


def _written(name: str, value: object) -> float | int | str | None:
    if value is not None and not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number or null, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _parsed(line: bytes, *, source: str) -> Row:
    try:
        content: Any = json.loads(line)
        row = {name: _read(value) for name, value in content.items()}
        _step(row)
    except (ValueError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{source} is not a line of metrics: {error}") from error
    return row


def _read(value: Any) -> float | int | None:
    number = _NOT_FINITE[value] if isinstance(value, str) else value
    if number is not None and not isinstance(number, int | float):
        raise ValueError(f"{number!r:.40} is no number")
    return number
