"""Loss at multiples of the trained length T: two protocols, the policies past T, and the tails.

Cost, in tokens that pass through the model: block reads each scored target once; sliding reads
length / stride tokens for each; the tails read anchors * length tokens per length. The policy
`window` reads T tokens for every target past T, under either protocol and in the tails.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float64, Integer
from torch import Tensor

from andrea_exp.component import Refusal
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.length_row import LengthRow
from andrea_exp.evaluate.protocol import Window
from andrea_exp.evaluate.score import Scores, score
from andrea_exp.evaluate.segments import Sample, sample
from andrea_exp.evaluate.tails import anchors, rise, tail_means, tail_windows
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import refusal
from andrea_exp.position.beyond import Beyond


def lengths(
    model: Decoder,
    validation: Integer[np.ndarray, " N"],
    *,
    config: EvaluationConfig,
    floor: Floor | None = None,
) -> list[LengthRow]:
    """Rows by length (T is always among them), then policy, then protocol.

    Up to T the declared policy is scored alone, since all policies are the same there; past T the
    further ones of the configuration follow, for schemes with trained rows.

    Args:
        model: after training.
        validation: the text.
        config: which lengths, targets and policies.
        floor: the best possible predictor of the text; without one, rows have no floor.

    Raises:
        Refusal: the text has no window of T and its last target.
        ValueError: a length is not a whole number of tokens.
    """
    study = _Study.of(model, validation, config=config, floor=floor)
    return [
        row
        for length in config.lengths(model.sizes.context)
        for beyond in study.policies(length)
        for row in study.rows(length, beyond)
    ]


def block_sample(num_tokens: int, *, context: int, config: EvaluationConfig) -> Sample:
    """The targets that the block protocol scores, the same at every length.

    Raises:
        Refusal: the text has no window of `context` and its last target.
    """
    if num_tokens <= context:
        raise Refusal(
            f"the validation text has {num_tokens} tokens, fewer than one window of "
            f"model.context={context} and its last target; give it more text"
        )
    longest = _longest(num_tokens, context=context, config=config)
    return sample(num_tokens, longest=longest, targets=config.block_targets)


def _longest(num_tokens: int, *, context: int, config: EvaluationConfig) -> int:
    """The longest length for which there is text."""
    return max(length for length in config.lengths(context) if length < num_tokens)


def loss_at_trained(rows: list[LengthRow]) -> float:
    """The validation loss of a run, in nats: block, at the trained length.

    Raises:
        ValueError: no row has it.
    """
    for row in rows:
        if row.factor == 1 and row.protocol == "block" and row.loss_nats is not None:
            return row.loss_nats
    raise ValueError("no row holds the block loss at the trained length; take those of `lengths`")


def floor_at_trained(rows: list[LengthRow]) -> float | None:
    """The least loss possible on the targets of `loss_at_trained`; None if it is unknown."""
    same = (row.floor_nats for row in rows if row.factor == 1 and row.protocol == "block")
    return next(same, None)


@dataclass(kw_only=True, frozen=True)
class _Study:
    """What the rows of one model share: the text, and which of its targets are scored."""

    model: Decoder
    tokens: Integer[Tensor, " N"]
    config: EvaluationConfig
    floor: Floor | None
    block: Sample
    sliding: Sample
    """A part of `block`, as overlapping windows cost many times as much."""
    ends: list[int]
    """Anchors of the tails."""

    @classmethod
    def of(
        cls,
        model: Decoder,
        validation: Integer[np.ndarray, " N"],
        *,
        config: EvaluationConfig,
        floor: Floor | None,
    ) -> "_Study":
        count, trained = len(validation), model.sizes.context
        targets = block_sample(count, context=trained, config=config)
        longest = _longest(count, context=trained, config=config)
        return cls(
            model=model,
            tokens=torch.from_numpy(validation),
            config=config,
            floor=floor,
            block=targets,
            sliding=targets.part(config.sliding_targets),
            ends=anchors(count, longest=longest, tail=config.tail(trained), count=config.anchors),
        )

    def policies(self, length: int) -> list[Beyond | None]:
        """The declared policy, then the further ones that make a difference at this length."""
        trained = self.model.position.trained_length()
        if trained is None or length <= trained:
            return [None]
        declared = self.model.position.past_label()
        return [None, *(policy for policy in self.config.beyond if policy.name != declared)]

    def rows(self, length: int, beyond: Beyond | None) -> Iterator[LengthRow]:
        """The block row and the sliding row."""
        trained = self.model.sizes.context
        reason = self._reason(length, beyond)
        row = LengthRow(
            length=length,
            factor=length / trained,
            protocol="block",
            stride=None,
            beyond=self.model.position.past_label() if beyond is None else beyond.name,
            status="ok" if reason is None else "refused",
            reason=reason,
        )
        stride = min(length, self.config.stride(trained))
        if reason is not None:
            yield row
            yield replace(row, protocol="sliding", stride=stride)
            return
        row = self._with_tail(row, beyond)
        yield self._with_scores(row, beyond, self.block)
        yield self._with_scores(
            replace(row, protocol="sliding", stride=stride), beyond, self.sliding
        )

    def _reason(self, length: int, beyond: Beyond | None) -> str | None:
        if length < len(self.tokens):
            return refusal(self.model.position, length=length, beyond=beyond)
        return (
            f"a window of {length} and its last target need {length + 1} validation tokens, there "
            f"are {len(self.tokens)}; give it more text, or lower evaluation.length_factors"
        )

    def _with_scores(self, row: LengthRow, beyond: Beyond | None, targets: Sample) -> LengthRow:
        windows = targets.windows(length=row.length, stride=row.stride or row.length)
        scores = self._score(windows, length=row.length, beyond=beyond)
        return row.with_scores(
            scores,
            floor=None if self.floor is None else self.floor.nats(windows),
            bucket=self.config.bucket(self.model.sizes.context),
        )

    def _with_tail(self, row: LengthRow, beyond: Beyond | None) -> LengthRow:
        if row.length < self.config.tail(self.model.sizes.context):
            return row
        here = self._tails(row.length, beyond)
        change = rise(here, at_trained=self._at_trained)
        return replace(
            row, tail_loss_nats=float(here.mean()), rise_nats=change.nats, rise_se=change.se
        )

    @cached_property
    def _at_trained(self) -> Float64[Tensor, " A"]:
        return self._tails(self.model.sizes.context, None)

    def _tails(self, length: int, beyond: Beyond | None) -> Float64[Tensor, " A"]:
        tail = self.config.tail(self.model.sizes.context)
        windows = tail_windows(self.ends, length=length, tail=tail)
        return tail_means(self._score(windows, length=length, beyond=beyond), tail=tail)

    def _score(self, windows: list[Window], *, length: int, beyond: Beyond | None) -> Scores:
        return score(
            self.model,
            self.tokens,
            windows,
            length=length,
            beyond=beyond,
            batch_tokens=self.config.batch_tokens,
        )
