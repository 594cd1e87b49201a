"""Calls are timed in turn, so that noise hits all alike."""

from collections.abc import Callable

from typing_extensions import override

from andrea_exp.bench import rounds
from andrea_exp.bench.clock import Clock, CpuClock
from andrea_exp.bench.rounds import Spread, in_turn, spread


class Scripted(Clock):
    """A machine on which every call takes as long as it says, and that grows slower."""

    def __init__(self) -> None:
        self.called: list[str] = []

    @override
    def ms(self, call: Callable[[], object]) -> float:
        name, ms = call()  # pyright: ignore[reportGeneralTypeIssues]
        self.called.append(name)
        return ms


def test_each_round_times_each_call_once_and_begins_with_another():
    clock = Scripted()
    calls = {name: lambda name=name: (name, 30.0) for name in "abc"}
    found = in_turn(calls, clock, budget_ms=180.0)
    warm_up = 3 * 2
    assert clock.called[:warm_up] == [*"abc"] * 2
    assert clock.called[warm_up:] == [*"abc", *"bca", *"cab", *"abc", *"bca", *"cab"]
    assert {name: len(times) for name, times in found.items()} == dict.fromkeys("abc", 6)


def test_there_are_neither_too_few_rounds_nor_too_many():
    slow = in_turn({"slow": lambda: ("slow", 1e6)}, Scripted(), budget_ms=100.0)
    assert len(slow["slow"]) == rounds.FEWEST
    quick = in_turn({"quick": lambda: ("quick", 1e-6)}, Scripted(), budget_ms=100.0)
    assert len(quick["quick"]) == rounds.MOST
    assert in_turn({}, CpuClock(), budget_ms=100.0) == {}


def test_the_spread_of_some_numbers():
    assert spread([5, 1, 2, 4, 3]) == Spread(median=3, q1=2, q3=4)


def test_a_call_that_takes_longer_is_seen_to():
    short, long = (CpuClock().ms(lambda n=n: sum(range(n))) for n in (10, 3_000_000))
    assert short < long
