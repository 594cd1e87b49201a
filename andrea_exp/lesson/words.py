"""How measured values and verdicts are written, in the terminal and on the page."""

import math
from collections.abc import Sequence

from andrea_exp.lesson.claim import Claim, Number, Relation, Value, Verdict
from andrea_exp.report.format import count

MARKS = {True: "\N{CHECK MARK}", False: "\N{BALLOT X}", None: ""}
"""Whether a value is as expected; nothing where nothing is."""


def shown(value: Number, *, digits: int = 6) -> str:
    """Whole numbers in full, others in some digits, words as they are."""
    match value:
        case str():
            return value
        case list():
            return " ".join(shown(each, digits=digits - 1) for each in value)
        case int():
            return count(value)
        case _:
            written = f"{value:.{digits}g}" if math.isfinite(value) else "not finite"
            return written.replace("-", "\N{MINUS SIGN}")


def expected(value: Value) -> str:
    """What a value should be; empty if nothing is expected."""
    if value.relation is None or value.expected is None:
        return ""
    if value.holds and isinstance(value.expected, str) and " " in value.expected:
        return "these words"
    number = shown(value.expected, digits=7)
    match value.relation:
        case Relation.equal:
            return number
        case Relation.near:
            return f"{number} \N{PLUS-MINUS SIGN} {value.within:.3g}"
        case _:
            return f"{value.relation.value} {number}"


def summary(claims: Sequence[Claim]) -> str:
    """How many claims there are of each verdict, and which; all of them, in one sentence."""
    parts: list[str] = []
    for verdict in Verdict:
        numbers = [str(claim.number) for claim in claims if claim.verdict is verdict]
        if numbers:
            which = f" ({', '.join(numbers)})" if verdict is not Verdict.holds else ""
            parts.append(f"{verdict.words}: {len(numbers)}{which}")
    return f"{len(claims)} claims; {'; '.join(parts)}"
