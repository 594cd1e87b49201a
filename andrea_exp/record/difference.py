"""Where two records differ, bit for bit: in nested values, in logged steps, in tensors."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final, final

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from andrea_exp.component import Refusal
from andrea_exp.record.metrics import Row, is_time_column

ABSENT: Final = "absent"
"""Stands for a value where one record has none."""

_MISSING: Final = object()
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@final
@dataclass(kw_only=True, frozen=True)
class Difference:
    """One place where two records differ."""

    where: str
    """A dotted key, a step and its column, or an element of a tensor."""
    first: str
    """What the first record has there, as JSON writes it; `ABSENT` if nothing."""
    second: str
    """The same of the second."""


def of_values(first: object, second: object, *, at: str = "") -> Iterator[Difference]:
    """Every leaf of two nested values that differs, in the order of the first, then the second.

    Floats are the same if their bits are: 0.0 and -0.0 differ, NaN and NaN do not. So do 1 and 1.0.
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        for key in dict.fromkeys([*first, *second]):
            inner = first.get(key, _MISSING), second.get(key, _MISSING)
            yield from of_values(*inner, at=f"{at}.{key}" if at else str(key))
    elif isinstance(first, list) and isinstance(second, list):
        for index, inner in enumerate(zip_longest(first, second, fillvalue=_MISSING)):
            yield from of_values(*inner, at=f"{at}[{index}]")
    elif _text(first) != _text(second):
        yield Difference(where=at, first=_text(first), second=_text(second))


def of_rows(first: Sequence[Row], second: Sequence[Row]) -> Iterator[Difference]:
    """The first column that differs of every step that does, by step; columns of time aside."""
    known = [_by_step(rows) for rows in (first, second)]
    for step in sorted({*known[0], *known[1]}):
        here, there = (rows.get(step) for rows in known)
        if here is None or there is None:
            texts = [ABSENT if row is None else "logged" for row in (here, there)]
            yield Difference(where=f"step {step}", first=texts[0], second=texts[1])
        else:
            for each in islice(of_values(here, there), 1):
                yield replace(each, where=f"step {step}, {each.where}")


def of_tensors(first: Path, second: Path) -> Iterator[Difference]:
    """The first element that differs of every tensor that does, in two files of safetensors.

    Tensors are mapped into memory, one pair at a time.

    Raises:
        Refusal: a file is none of safetensors.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(_opened(path)) for path in (first, second)]
        have = [list(file.keys()) for file in files]
        for name in dict.fromkeys([*have[0], *have[1]]):
            tensors = [
                file.get_tensor(name) if name in names else None
                for file, names in zip(files, have, strict=True)
            ]
            yield from _of_tensor(name, *tensors)


def _of_tensor(name: str, first: Tensor | None, second: Tensor | None) -> Iterator[Difference]:
    if first is None or second is None or _layout(first) != _layout(second):
        yield Difference(where=name, first=_layout(first), second=_layout(second))
        return
    differs = (_bits(first) != _bits(second)).nonzero()
    if len(differs):
        place = int(differs[0])
        index = ", ".join(str(int(each)) for each in torch.unravel_index(differs[0], first.shape))
        values = [repr(tensor.flatten()[place].item()) for tensor in (first, second)]
        yield Difference(where=f"{name}[{index}]", first=values[0], second=values[1])


def _layout(tensor: Tensor | None) -> str:
    return ABSENT if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"


def _bits(tensor: Tensor) -> Tensor:
    """The elements as integers, so that equal bits, and nothing else, are equal."""
    return tensor.flatten().view(_INTEGERS[tensor.element_size()])


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise Refusal(f"{path} cannot be read as weights: {error}") from error


def _by_step(rows: Sequence[Row]) -> dict[int, Row]:
    return {
        step: {name: value for name, value in row.items() if not is_time_column(name)}
        for row in rows
        if isinstance(step := row["step"], int)
    }


def _text(value: object) -> str:
    return ABSENT if value is _MISSING else json.dumps(value, ensure_ascii=False)
