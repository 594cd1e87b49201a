"""What configuration classes share: ranges checked at construction, and one kind of refusal."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from typing_extensions import override

LARGEST_COUNT = 10**9
"""Most of anything that a configuration may ask for, unless a field's range says otherwise.

More steps, tokens or rows than any run has, and few enough for products of two to fit into 64 bits.
"""


class Refusal(Exception):  # noqa: N818 - not a fault of the program, so no "Error"
    """A request that cannot be met. The text is the whole message a user sees; exit status 2."""


class Range(NamedTuple):
    """An interval of finite numbers; a bound belongs to it unless its side is open."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    @override
    def __contains__(self, value: object) -> bool:
        """Whether a number lies inside; NaN and the infinities never do."""
        if not isinstance(value, int | float) or not -math.inf < value < math.inf:
            return False
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    @override
    def __str__(self) -> str:
        """The interval in words, as error messages print it."""
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        high = f"{'below' if self.open_high else 'at most'} {self.high:g}"
        sides = [low] if self.low > -math.inf else []
        return " and ".join(sides + ([high] if self.high < math.inf else []))


def at_least(low: float) -> Mapping[str, Range]:
    """Field metadata: finite numbers from `low` upwards."""
    return {"range": Range(low=low)}


def above(low: float) -> Mapping[str, Range]:
    """Field metadata: finite numbers greater than `low`."""
    return {"range": Range(low=low, open_low=True)}


def between(low: float, high: float) -> Mapping[str, Range]:
    """Field metadata: numbers from `low` to `high`, both allowed."""
    return {"range": Range(low=low, high=high)}


def positive_up_to(high: float) -> Mapping[str, Range]:
    """Field metadata: numbers above 0, up to `high`."""
    return {"range": Range(low=0, high=high, open_low=True)}


def positive_share() -> Mapping[str, Range]:
    """Field metadata: numbers above 0, up to 1."""
    return positive_up_to(1)


def fraction_below_one() -> Mapping[str, Range]:
    """Field metadata: numbers from 0 up to, but not, 1."""
    return {"range": Range(low=0, high=1, open_high=True)}


def files() -> Mapping[str, bool]:
    """Field metadata: paths, which the command line means relative to the current directory."""
    return {"files": True}


def path_fields(cls: type["Config"]) -> list[str]:
    """The fields of a configuration class that hold such paths."""
    return [field.name for field in fields(cls) if field.metadata.get("files")]


@dataclass(kw_only=True, frozen=True)
class Config:
    """A typed configuration node. It has no defaults: every value is written in `conf/`.

    What a class refuses at construction is a ValueError whose text begins with the field's name;
    the node's own key is put in front of it.
    """

    def __post_init__(self) -> None:
        """Check each field that declares a range; None stands for "not set" and passes."""
        for field in fields(self):
            value = getattr(self, field.name)
            for each in value if isinstance(value, list) else [value]:
                _check(field.name, each, allowed=field.metadata.get("range"))


def _check(name: str, value: object, *, allowed: Range | None) -> None:
    if allowed is not None and value is not None and value not in allowed:
        raise ValueError(f"{name} must be {allowed}, got {value}")
    bounded = allowed is not None and allowed.high < math.inf
    if isinstance(value, int) and value > LARGEST_COUNT and not bounded:
        raise ValueError(f"{name} must be at most {LARGEST_COUNT}, got {value}")


@dataclass(kw_only=True, frozen=True)
class OptionConfig(Config):
    """One option of a group that can be extended: its class stands in the module `name`."""

    name: str
    """The module beside the base class in which this option is written."""

    def __post_init__(self) -> None:
        """Check that the name is the module's own, then the ranges."""
        module = type(self).__module__.rpartition(".")[2]
        if self.name != module:
            raise ValueError(
                f"name must be {module!r}, the module of this option, got {self.name!r}"
            )
        super().__post_init__()
