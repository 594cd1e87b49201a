"""The record of one evaluated length."""

from dataclasses import dataclass, replace
from typing import Literal

from jaxtyping import Float64
from torch import Tensor

from andrea_exp.evaluate.score import Scores


@dataclass(kw_only=True, frozen=True)
class Bucket:
    """Mean loss of the targets at some positions of a window."""

    start: int
    """First position, from 0."""
    stop: int
    """Position after the last."""
    loss_nats: float
    tokens: int
    """Targets it is the mean of."""
    floor_nats: float | None = None
    """What the best possible predictor loses on them; None where that is unknown."""


@dataclass(kw_only=True, frozen=True)
class LengthRow:
    """One length under one protocol and one policy. A refused row has a reason and no numbers."""

    length: int
    """Tokens of a window."""
    factor: float
    """length / T."""
    protocol: Literal["block", "sliding"]
    stride: int | None
    """Step of the sliding windows, in tokens; None under block."""
    beyond: str
    """What happens past T: the declared policy's label, or a further policy's name."""
    status: Literal["ok", "refused"]
    reason: str | None
    """Why the length was refused."""
    loss_nats: float | None = None
    """Mean loss of the scored targets."""
    loss_se: float | None = None
    """Standard error of it, over windows: what another text would change, not another seed. None
    with fewer than two windows."""
    floor_nats: float | None = None
    """The same of the best possible predictor that sees the same windows; None if unknown."""
    tail_loss_nats: float | None = None
    """Mean loss at the anchors, whatever the protocol; None at lengths below the tail's."""
    rise_nats: float | None = None
    """Tail loss minus that at T."""
    rise_se: float | None = None
    """Standard error of the rise, over the anchors."""
    accuracy: float | None = None
    """Share of targets that are the most probable token."""
    exact_match: float | None = None
    """Share of answers without an error; for tasks with answers."""
    tokens_scored: int | None = None
    """Targets scored, each exactly once."""
    per_position: list[Bucket] | None = None

    def with_scores(
        self, scores: Scores, *, bucket: int, floor: Float64[Tensor, " n"] | None = None
    ) -> "LengthRow":
        """The same row with what the scored targets say; `bucket` positions make one bucket.

        Args:
            scores: of the targets.
            bucket: positions.
            floor: the least loss that is possible for each, where that is known.
        """
        return replace(
            self,
            loss_nats=float(scores.nats.double().mean()),
            loss_se=error_over_windows(scores),
            floor_nats=None if floor is None else float(floor.mean()),
            accuracy=float(scores.hits.double().mean()),
            tokens_scored=len(scores.nats),
            per_position=buckets(scores, width=bucket, floor=floor),
        )


def error_over_windows(scores: Scores) -> float | None:
    """Standard error of the mean loss, in nats, for windows that are independent of each other.

    Targets inside one window are not: sums over windows are the units.
    """
    starts = scores.place.diff(prepend=scores.place.new_tensor([scores.place[0] + 1])) < 1
    windows = int(starts.sum())
    if windows < 2:
        return None
    nats = scores.nats.double()
    sums = (starts.cumsum(dim=0) - 1).bincount(weights=nats - nats.mean())
    return float((sums.square().sum() * windows / (windows - 1)).sqrt() / len(nats))


def buckets(
    scores: Scores, *, width: int, floor: Float64[Tensor, " n"] | None = None
) -> list[Bucket]:
    """Mean loss by position, `width` positions at a time; buckets without a target are left out."""
    index = scores.place // width
    tokens = index.bincount()
    total = index.bincount(weights=scores.nats.double())
    least = None if floor is None else index.bincount(weights=floor)
    return [
        Bucket(
            start=number * width,
            stop=(number + 1) * width,
            loss_nats=float(total[number] / tokens[number]),
            tokens=int(tokens[number]),
            floor_nats=None if least is None else float(least[number] / tokens[number]),
        )
        for number in tokens.nonzero().flatten().tolist()
    ]
