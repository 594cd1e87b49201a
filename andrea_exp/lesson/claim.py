"""What a claim is: a question, what the lesson says, what is right, and numbers measured now."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import final

from andrea_exp.report.table import Table

Number = float | int | str | list[float] | list[int]
"""A measured value: a number, some of one kind, or words such as the text of a refusal."""


class Relation(Enum):
    """How a value must stand to what is expected of it."""

    equal = "="
    near = "\N{PLUS-MINUS SIGN}"
    below = "<"
    above = ">"


class Verdict(Enum):
    """What has become of a claim."""

    holds = "every number of which something is expected is as expected"
    fails = "a number is not as expected"
    measured = "numbers of which the claim promises nothing, or too few seeds to decide"
    needs_a_run = "training decides it, and no run that would tell was given"

    @property
    def words(self) -> str:
        """As people read it."""
        return self.name.replace("_", " ")


@final
@dataclass(kw_only=True, frozen=True)
class Value:
    """One measured value beside what is expected, which was derived without the measured code."""

    name: str
    value: Number
    relation: Relation | None = None
    """None: nothing is expected."""
    expected: Number | None = None
    within: float | None = None
    """For `near`: how far off a number may be."""

    @property
    def holds(self) -> bool | None:
        """Whether it is as expected; None if nothing is. What is not a number is never near."""
        match self.relation:
            case None:
                return None
            case Relation.equal:
                return self.value == self.expected
            case _:
                found, wanted = _numbers(self.value), _numbers(self.expected)
                return len(found) == len(wanted) and all(
                    self._stands(one, other) for one, other in zip(found, wanted, strict=True)
                )

    def _stands(self, found: float, wanted: float) -> bool:
        if self.relation is Relation.near:
            return abs(found - wanted) <= (self.within or 0)
        return found < wanted if self.relation is Relation.below else found > wanted


def _numbers(value: Number | None) -> list[float]:
    """The numbers of a value; words and nothing are NaN, of which no comparison is true."""
    if isinstance(value, list):
        return [float(each) for each in value]
    return [math.nan if value is None or isinstance(value, str) else float(value)]


def equal(name: str, value: Number, expected: Number) -> Value:
    """A value that must be the expected one exactly."""
    return Value(name=name, value=value, relation=Relation.equal, expected=expected)


def near(name: str, value: Number, expected: Number, *, within: float) -> Value:
    """A value, or each of several, that must be this close to the expected one."""
    return Value(name=name, value=value, relation=Relation.near, expected=expected, within=within)


def below(name: str, value: float, bound: float) -> Value:
    """A number that must be smaller than a bound."""
    return Value(name=name, value=value, relation=Relation.below, expected=bound)


def above(name: str, value: float, bound: float) -> Value:
    """A number that must be greater than a bound."""
    return Value(name=name, value=value, relation=Relation.above, expected=bound)


def told(name: str, value: Number) -> Value:
    """A value of which nothing is expected."""
    return Value(name=name, value=value)


@final
@dataclass(kw_only=True, frozen=True)
class Plot:
    """A small picture: values at 1, 2, 3 ... of one or more lines."""

    title: str
    across: str
    """What is counted along the horizontal axis."""
    lines: dict[str, list[float]]


Found = Iterator[Value | Plot]
"""What a measurement yields, one after the other."""


@final
@dataclass(kw_only=True, frozen=True)
class Question:
    """A claim before it is measured."""

    number: int
    """In the order in which the lessons make their claims."""
    question: str
    says: str
    """What the lesson says."""
    right: str | None = None
    """What is right, where the lesson errs or leaves out what matters."""
    live: Callable[[], Found] | None = None
    """Measured with the product's own classes; nothing is trained."""
    trained: Callable[[Table], Found] | None = None
    """Read from the records of runs; yields nothing if they do not tell."""
    by_training: bool = False
    """Whether `trained` alone can say that the claim holds."""
    command: str | None = None
    """What makes runs that `trained` can read."""


@final
@dataclass(kw_only=True, frozen=True)
class Claim:
    """A claim with what was measured."""

    number: int
    question: str
    says: str
    right: str | None
    live: Sequence[Value]
    """Measured without training."""
    read: Sequence[Value]
    """Read from runs."""
    by_training: bool
    """Whether `read` alone can say that it holds."""
    plots: Sequence[Plot]
    command: str | None
    """What to type for the part that training decides; None if there is none, or it was read."""

    @property
    def values(self) -> Sequence[Value]:
        """All of them."""
        return [*self.live, *self.read]

    @property
    def verdict(self) -> Verdict:
        """Any value can fail a claim; those that decide it must be there for it to hold."""
        deciding = self.read if self.by_training else self.values
        if any(value.holds is False for value in self.values):
            return Verdict.fails
        if not deciding:
            return Verdict.needs_a_run
        return Verdict.holds if any(value.holds for value in deciding) else Verdict.measured


def measured(question: Question, runs: Table | None) -> Claim:
    """Measure a claim now.

    Args:
        question: what to measure.
        runs: records for the part that training decides, if any were given.
    """
    live = list(question.live()) if question.live else []
    read = list(question.trained(runs)) if question.trained and runs else []
    return Claim(
        number=question.number,
        question=question.question,
        says=question.says,
        right=question.right,
        live=[each for each in live if isinstance(each, Value)],
        read=[each for each in read if isinstance(each, Value)],
        by_training=question.by_training,
        plots=[each for each in [*live, *read] if isinstance(each, Plot)],
        command=None if read else question.command,
    )
