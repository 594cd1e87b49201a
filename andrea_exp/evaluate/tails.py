"""Tail loss: the last targets of windows that end at the same places, whatever their length.

Block loss mixes how well a scheme does early in a window with how it does late. Here every length
is scored on the same targets, at the far end of its windows, so that a difference between lengths
is a matter of length alone.
"""

from typing import NamedTuple

from jaxtyping import Float64
from torch import Tensor

from andrea_exp.evaluate.protocol import Window
from andrea_exp.evaluate.score import Scores


class Rise(NamedTuple):
    """How much the tail loss of one length exceeds that of another."""

    nats: float
    """Mean over the anchors of the paired difference."""
    se: float | None
    """Its standard error over the anchors; None with fewer than two."""


def anchors(num_tokens: int, *, longest: int, tail: int, count: int) -> list[int]:
    """At most `count` places where windows end, evenly spread and at least `tail` apart.

    Each has room for the longest window before it and for one target after it.
    """
    room = num_tokens - 1 - longest
    fitting = min(count, 1 + room // tail)
    steps = max(fitting - 1, 1)
    return [longest + index * room // steps for index in range(fitting)]


def tail_windows(ends: list[int], *, length: int, tail: int) -> list[Window]:
    """One window of `length` per anchor, of which the last `tail` targets are scored."""
    return [Window(end - length, end, end - tail) for end in ends]


def tail_means(scores: Scores, *, tail: int) -> Float64[Tensor, " A"]:
    """Mean loss of each anchor's tail, in nats."""
    return scores.nats.double().unflatten(0, (-1, tail)).mean(dim=1)


def rise(longer: Float64[Tensor, " A"], *, at_trained: Float64[Tensor, " A"]) -> Rise:
    """Difference of two lengths' tail losses, paired by anchor."""
    difference = longer - at_trained
    count = len(difference)
    se = float(difference.std() / count**0.5) if count > 1 else None
    return Rise(float(difference.mean()), se)
