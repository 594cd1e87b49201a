"""A claim as an experiment's file holds it: fixed before the runs that judge it."""

from dataclasses import dataclass, field
from enum import Enum

from andrea_exp.claims.metric import metric_error
from andrea_exp.component import Config, Refusal, at_least
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evidence.rule import Kind
from andrea_exp.position.beyond import Beyond

POLICY = "beyond"
"""The word of an arm that chooses among the policies scored from one run, as `beyond=clamp`."""
SEED = "seed"
"""The unit of every verdict, and so the one key that no arm is told by."""
OF_RISE = ("rise_nats", "rise_se")
"""Metrics that compare a length with T."""


class Direction(Enum):
    """Which values of a metric are better."""

    lower = "lower"
    higher = "higher"


class ScoringProtocol(Enum):
    """How windows are laid over the text."""

    block = "block"
    sliding = "sliding"


@dataclass(kw_only=True, frozen=True)
class ClaimConfig(Config):
    """One statement about a difference between two arms, or about one arm alone."""

    name: str
    """One word, unique in the experiment."""
    statement: str
    """What is claimed, in a sentence."""
    source: str
    """Where it was published, or what it rests on."""
    kind: Kind
    """Whether the first arm is better by the margin, within it, or solves more seeds."""
    metric: str
    """A number of the lengths, such as `rise_nats`, or a path in results.json."""
    minus: str | None
    """A path in results.json that is taken off the metric, such as its value before training."""
    factor: float | None
    """Length in units of T; None exactly for a path."""
    protocol: ScoringProtocol | None
    """None exactly for a path."""
    direction: Direction | None
    """Which values are better; None exactly for `within`."""
    margin: float = field(metadata=at_least(0))
    """In the unit of the metric; 0 exactly for `solved`."""
    threshold: float | None
    """Value from which on, in the claim's direction, a seed solves the task; for `solved` alone."""
    arm: list[str]
    """The first arm: words `group=option` or `key=value`, and `beyond=` for the policy past T."""
    than: list[str] | None
    """The arm that it is compared with; None compares with 0."""

    def __post_init__(self) -> None:
        """Check that the parts fit each other."""
        super().__post_init__()
        for reason in self._reasons():
            raise ValueError(reason)

    def _reasons(self) -> list[str]:
        found = [metric_error("metric", self.metric, of_length=self.factor is not None)]
        if self.minus is not None:
            found.append(metric_error("minus", self.minus, of_length=False))
        if (self.factor is None) != (self.protocol is None):
            found.append("factor and protocol belong together: give both, or null for both")
        if (self.direction is None) != (self.kind is Kind.within):
            found.append("direction must be null for kind=within, and lower or higher otherwise")
        if (self.threshold is None) == (self.kind is Kind.solved):
            found.append("threshold must be a number for kind=solved, and null otherwise")
        if self.kind is Kind.solved and (self.than is None or self.margin):
            found.append("kind=solved compares two arms, and has margin=0")
        if self.kind is Kind.within and not self.margin:
            found.append("margin=0 leaves nothing within it; give a positive one")
        if self.factor == 1 and self.metric in OF_RISE:
            found.append(f"metric={self.metric} is 0 at factor=1, where the rise starts")
        found += self._text_reasons() + self._arm_reasons()
        return [reason for reason in found if reason]

    def _text_reasons(self) -> list[str]:
        found = [] if len(self.name.split()) == 1 else [f"name={self.name!r} must be one word"]
        if not self.statement.strip() or not self.source.strip():
            found.append("statement and source must say something")
        return found

    def _arm_reasons(self) -> list[str]:
        arms = {"arm": self.arm, "than": self.than}
        found = [reason for key, arm in arms.items() if arm for reason in _word_reasons(key, arm)]
        if not self.arm or self.than == []:
            found.append("arm and than name an arm by words such as position=alibi")
        if self.than is not None and set(self.arm) == set(self.than):
            found.append(f"arm and than are the same: {' '.join(self.arm)}")
        return found

    def oriented(self, value: float) -> float:
        """A value, or a difference of two, such that larger is better."""
        return -value if self.direction is Direction.lower else value

    def solves(self, value: float) -> bool:
        """Whether a value passes the threshold of `solved`."""
        assert self.threshold is not None
        return self.oriented(value - self.threshold) >= 0

    def check_scored(self, evaluation: EvaluationConfig) -> None:
        """Check that the evaluation measures what this claim speaks of.

        Raises:
            Refusal: it does not.
        """
        factors = {1.0, *evaluation.length_factors}
        if self.factor is not None and self.factor not in factors:
            raise Refusal(
                f"claim {self.name}: factor={self.factor:g} is none of "
                f"evaluation.length_factors={sorted(factors)}"
            )
        for word in [*self.arm, *(self.than or [])]:
            key, _, value = word.partition("=")
            if key == POLICY:
                self._check_policy(value, evaluation)

    def _check_policy(self, policy: str, evaluation: EvaluationConfig) -> None:
        said = f"claim {self.name}: {POLICY}={policy}"
        if policy not in Beyond.__members__:
            raise Refusal(f"{said} is no policy past T: {', '.join(Beyond.__members__)}")
        scored = [each.name for each in evaluation.beyond]
        if policy not in scored:
            raise Refusal(
                f"{said} is none of evaluation.beyond=[{', '.join(scored)}]; add it there, or "
                f"leave the word out if the arm's own position.beyond is meant"
            )


def _word_reasons(key: str, words: list[str]) -> list[str]:
    found = [f"{key}: {word!r} must be a word key=value" for word in words if not _is_word(word)]
    names = [word.partition("=")[0] for word in words]
    found += [f"{key} says {name}= twice" for name in sorted(set(names)) if names.count(name) > 1]
    if SEED in names:
        found.append(f"{key} names a seed, but an arm is all of its seeds; list them in seeds")
    return found


def _is_word(word: str) -> bool:
    key, equals, value = word.partition("=")
    return bool(key and equals and value)
