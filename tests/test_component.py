"""Ranges, names and the texts of their refusals."""

import math
from dataclasses import dataclass, field

import pytest

from andrea_exp.component import (
    Config,
    Range,
    above,
    at_least,
    between,
    fraction_below_one,
    positive_share,
    positive_up_to,
)
from andrea_exp.output.untied import UntiedConfig


@dataclass(kw_only=True, frozen=True)
class Example(Config):
    count: int = field(metadata=at_least(3))
    share: float = field(metadata=fraction_below_one())
    factors: list[float] = field(metadata=above(0))
    level: float | None = field(metadata=between(-1, 1))
    free: int


def example(
    *,
    count: int = 3,
    share: float = 0.0,
    factors: list[float] | None = None,
    level: float | None = None,
    free: int = -5,
) -> Example:
    return Example(count=count, share=share, factors=factors or [0.5, 2.0], level=level, free=free)


@pytest.mark.parametrize(
    ("allowed", "inside", "outside"),
    [
        (at_least(3), [3, 3.5, 1e300], [2.999, -3]),
        (above(0), [1e-300, 7], [0, -1e-300]),
        (between(-1, 1), [-1, 0, 1], [-1.001, 1.001]),
        (fraction_below_one(), [0, 0.999], [1, -0.001]),
        (positive_share(), [0.001, 1], [0, 1.001]),
        (positive_up_to(7), [0.001, 7], [0, 7.001]),
        (at_least(3), [10**400], [-(10**400)]),
    ],
)
def test_a_range_holds_its_own_bounds_and_no_others(
    allowed: dict[str, Range], inside: list[float], outside: list[float]
):
    assert all(number in allowed["range"] for number in inside)
    assert all(number not in allowed["range"] for number in outside)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, "1"])
def test_no_range_holds_what_is_not_a_finite_number(number: object):
    assert number not in Range()
    assert number not in at_least(0)["range"]


def test_values_on_the_bounds_pass():
    assert example(count=3, share=0.0, level=-1.0).level == -1.0


def test_none_means_not_set_and_passes():
    assert example(level=None).level is None


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"count": 2}, "count must be at least 3, got 2"),
        ({"share": 1.0}, "share must be at least 0 and below 1, got 1.0"),
        ({"share": math.nan}, "share must be at least 0 and below 1, got nan"),
        ({"factors": [1.0, 0.0]}, "factors must be above 0, got 0.0"),
        ({"count": 10**9 + 1}, "count must be at most 1000000000, got 1000000001"),
        ({"free": 10**400}, f"free must be at most 1000000000, got {10**400}"),
        ({"level": 1.5}, "level must be at least -1 and at most 1, got 1.5"),
    ],
)
def test_a_value_outside_is_refused_with_its_key_range_and_value(
    changes: dict[str, float], text: str
):
    with pytest.raises(ValueError, match="must be") as caught:
        example(**changes)  # pyright: ignore[reportArgumentType]
    assert str(caught.value) == text


def test_an_option_refuses_the_name_of_another():
    with pytest.raises(ValueError, match=r"name must be 'untied'.*got 'tied'"):
        UntiedConfig(name="tied", std=None)


def test_an_option_still_checks_its_ranges():
    with pytest.raises(ValueError, match="std must be above 0, got -1"):
        UntiedConfig(name="untied", std=-1.0)


def test_a_configuration_cannot_be_changed():
    with pytest.raises(AttributeError):
        example().count = 4  # pyright: ignore[reportAttributeAccessIssue]
