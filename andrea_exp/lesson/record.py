"""Claims as plain values, for programs."""

import json
import math
from collections.abc import Sequence
from typing import Any

from andrea_exp.lesson.claim import Claim, Number, Value


def written(claims: Sequence[Claim]) -> str:
    """JSON: one object per claim; a number that is not finite is null."""
    return json.dumps([_claim(claim) for claim in claims], indent=1, allow_nan=False)


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "number": claim.number,
        "question": claim.question,
        "lesson": claim.says,
        "right": claim.right,
        "verdict": claim.verdict.words,
        "values": [_value(value) for value in claim.values],
        "plots": [
            {"title": plot.title, "across": plot.across, "lines": plot.lines}
            for plot in claim.plots
        ],
        "command": claim.command,
    }


def _value(value: Value) -> dict[str, Any]:
    return {
        "name": value.name,
        "value": _finite(value.value),
        "relation": None if value.relation is None else value.relation.name,
        "expected": None if value.expected is None else _finite(value.expected),
        "within": value.within,
        "holds": value.holds,
    }


def _finite(number: Number) -> object:
    if isinstance(number, list):
        return [_finite(each) for each in number]
    return None if isinstance(number, float) and not math.isfinite(number) else number
