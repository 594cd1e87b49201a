"""The runs that an arm's words name, and the number that a claim wants of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, final

import yaml

from andrea_exp.claims.config import POLICY, ClaimConfig
from andrea_exp.claims.metric import number_at
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import RunRecord


@final
@dataclass(kw_only=True, frozen=True)
class Arm:
    """What an arm's words say."""

    words: dict[str, str]
    """Key -> value that its runs have."""
    policy: str | None
    """Past T; None stands for the declared one."""

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """The arm that these words name."""
        said = dict(word.split("=", 1) for word in words)
        return cls(words={k: v for k, v in said.items() if k != POLICY}, policy=said.get(POLICY))

    def has(self, record: RunRecord) -> bool:
        """Whether a run belongs to this arm."""
        return all(_agrees(record, key, value) for key, value in self.words.items())


@final
@dataclass(frozen=True)
class Measured:
    """A number of one arm by seed, and why other seeds have none."""

    values: dict[int, float]
    missing: dict[int, str]
    """Seed -> why it has no value."""
    diverged: list[str] = field(default_factory=list[str])
    """Runs whose loss became NaN."""
    runs: dict[int, str] = field(default_factory=dict[int, str])
    """Seed -> recipe hash of the run that was read."""


def measured(
    claim: ClaimConfig, arm: Arm, records: Sequence[RunRecord], *, seeds: Sequence[int]
) -> Measured:
    """The claim's metric of an arm, for each of these seeds."""
    found = Measured({}, {})
    for seed in seeds:
        own = [each for each in records if each.config.get("seed") == seed and arm.has(each)]
        words = " ".join(f"{key}={value}" for key, value in arm.words.items())
        if len(own) != 1:
            found.missing[seed] = (
                f"{words} seed={seed} was not run"
                if not own
                else f"{words} names {len(own)} different runs of seed {seed}"
            )
            continue
        record = own[0]
        if record.status is Status.nan:
            found.diverged.append(f"{words} seed={seed}")
        value, reason = _value(claim, arm, record)
        if value is None:
            found.missing[seed] = f"{words} seed={seed}: {reason}"
        else:
            found.values[seed] = value
            found.runs[seed] = record.recipe_hash
    return found


def _value(claim: ClaimConfig, arm: Arm, record: RunRecord) -> tuple[float | None, str]:
    """The number, or None with a reason."""
    results = record.results
    if record.status is not Status.completed or results is None:
        return None, record.status.name if results is None else "without results"
    if claim.factor is None:
        value = number_at(results, claim.metric)
        if value is not None and claim.minus is not None:
            before = number_at(results, claim.minus)
            value = None if before is None else value - before
        return value, f"{claim.metric} was not measured"
    row = _row(claim, arm, results)
    if row is None:
        return None, f"no row at {claim.factor:g}T under beyond={arm.policy or 'the declared one'}"
    return row.get(claim.metric), row.get("reason") or f"{claim.metric} was not measured"


def _row(claim: ClaimConfig, arm: Arm, results: Mapping[str, Any]) -> Mapping[str, Any] | None:
    assert claim.protocol is not None
    rows = results.get("lengths") or []
    declared = {row["beyond"] for row in rows if row["factor"] == 1}
    for row in rows:
        at_length = row["factor"] == claim.factor and row["protocol"] == claim.protocol.name
        # Up to T all policies are the same, and the rows carry the declared one's label.
        policy = arm.policy if claim.factor and claim.factor > 1 else None
        if at_length and (row["beyond"] == policy if policy else row["beyond"] in declared):
            return row
    return None


def _agrees(record: RunRecord, key: str, value: str) -> bool:
    if key in record.choices:
        return record.choices[key] == value
    found: Any = record.config
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return _reads_as(found, value)


def _reads_as(found: object, word: str) -> bool:
    """Whether a word stands for a value; YAML alone would read 3e-3 as text."""
    if isinstance(found, int | float) and not isinstance(found, bool):
        try:
            return found == float(word)
        except ValueError:
            return False
    return found == yaml.safe_load(word)
