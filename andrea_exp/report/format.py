"""How numbers are written: the same in tables, sentences and captions, whatever the locale."""

import math
from collections.abc import Iterable
from itertools import groupby

MISSING = "\N{EN DASH}"
"""Stands where a number does not apply or was not measured."""


def fixed(value: float | None, *, digits: int = 3) -> str:
    """A number with this many decimals; one that is not finite says so."""
    return _written(value, f".{digits}f")


def signed(value: float | None, *, digits: int = 3) -> str:
    """A difference: its sign is always written."""
    return _written(value, f"+.{digits}f")


def count(value: float | None) -> str:
    """A whole number, its thousands set apart."""
    return _written(value, ",.0f")


def share(value: float | None) -> str:
    """A fraction as a percentage."""
    if value is None:
        return MISSING
    return f"{_written(100 * value, '.1f' if value >= 0.1 else '.2f')}%"


def short(value: float | None) -> str:
    """A large count in three digits and a letter."""
    scales = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
    for size, letter in scales:
        if value is not None and math.isfinite(value) and abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return _written(value, ".3g")


def significant(value: float | None) -> str:
    """A number in three digits, trailing zeros among them; a large one whole."""
    if value is None or not math.isfinite(value) or abs(value) >= 999.5:
        return count(value)
    return _written(value, "#.3g").rstrip(".")


def multiple(factor: float) -> str:
    """A length in units of the trained one."""
    return "T" if factor == 1 else f"{factor:g}T"


def quantity(number: int, noun: str) -> str:
    """A count with its noun, plural where it must be."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def listing(words: list[str]) -> str:
    """Words joined as in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def numbering(numbers: Iterable[int]) -> str:
    """Whole numbers as in a sentence, in order; three or more in a row by their ends."""
    ordered = enumerate(sorted(set(numbers)))
    words: list[str] = []
    for _, group in groupby(ordered, key=lambda item: item[1] - item[0]):
        row = [number for _, number in group]
        words += [f"{row[0]} to {row[-1]}"] if len(row) > 2 else map(str, row)
    return listing(words)


def probability(p: float | None) -> str:
    """A p-value in four digits; one that is smaller says so."""
    smallest = 1e-4
    return f"< {smallest:.4f}" if p is not None and p < smallest else fixed(p, digits=4)


def _written(value: float | None, specification: str) -> str:
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return "not finite"
    return format(value, specification).replace("-", "\N{MINUS SIGN}")
