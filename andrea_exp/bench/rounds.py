"""Timing several calls in turn, and what the times say of each."""

import math
import statistics
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from andrea_exp.bench.clock import Clock

K = TypeVar("K", bound=Hashable)

FEWEST, MOST = 5, 500
"""Rounds: quartiles need some, and more than the second move a median no more."""
_WARM_UPS: Final = 2
"""Calls before the first round. The first may compile, the last tells how long a round takes."""


class Spread(NamedTuple):
    """The middle of some numbers and its neighbourhood."""

    median: float
    q1: float
    q3: float


def spread(numbers: Sequence[float]) -> Spread:
    """Median and quartiles.

    Raises:
        statistics.StatisticsError: there are fewer than two numbers.
    """
    q1, middle, q3 = statistics.quantiles(numbers, n=4, method="inclusive")
    return Spread(middle, q1, q3)


def in_turn(
    calls: Mapping[K, Callable[[], object]], clock: Clock, *, budget_ms: float
) -> dict[K, list[float]]:
    """Milliseconds of every call in every round.

    In a round each call is timed once. The next round begins with another one, so that none always
    finds the caches as the same other one left them.

    Args:
        calls: by name.
        clock: of the device.
        budget_ms: per call, warm-up aside; as many rounds as fit, from FEWEST to MOST.
    """
    if not calls:
        return {}
    order = [*calls]
    last: dict[K, float] = {}
    for _ in range(_WARM_UPS):
        last = {name: clock.ms(call) for name, call in calls.items()}
    rounds = math.floor(budget_ms * len(calls) / sum(last.values()))
    found: dict[K, list[float]] = {name: [] for name in calls}
    for number in range(min(max(rounds, FEWEST), MOST)):
        first = number % len(order)
        for name in order[first:] + order[:first]:
            found[name].append(clock.ms(calls[name]))
    return found
