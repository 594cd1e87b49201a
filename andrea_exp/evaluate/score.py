"""Loss of each target under given windows and a policy past the trained length.

There is one path: the windows are cut down to what the policy lets the model see (for all but
`window` that is everything), grouped by shape, and each group is run in batches. Nothing in it
asks whether a length is the trained one.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64, Integer
from torch import Tensor

from andrea_exp.evaluate.protocol import Window, narrowed
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Position, Positions
from andrea_exp.position.beyond import Beyond


class Scores(NamedTuple):
    """One entry per target, in the order of the windows; on the CPU."""

    nats: Float[Tensor, " n"]
    """-log of the probability of the target, as the training loss computes it."""
    hits: Bool[Tensor, " n"]
    """Whether the target is the most probable token."""
    place: Int64[Tensor, " n"]
    """Position of its input in the window, from 0."""


class _Batch(NamedTuple):
    """Forward passes of one shape."""

    starts: Int64[Tensor, " B"]
    slots: Int64[Tensor, " B"]
    """Where the first scored target of each pass goes in the result."""
    size: int
    skip: int
    """Inputs of each pass whose target is not scored."""


def score(
    model: Decoder,
    tokens: Integer[Tensor, " N"],
    windows: Sequence[Window],
    *,
    length: int,
    beyond: Beyond | None,
    batch_tokens: int,
) -> Scores:
    """Score every target of the windows.

    Args:
        model: dropout is switched off for the time of the call.
        tokens: the text that the windows index, on the CPU. It may be a large file that is mapped
            into memory: no more than the tokens of one batch is copied.
        windows: no longer than `length`.
        length: the evaluated length; a shorter window counts as the beginning of one, which
            decides how far `interpolate` stretches.
        beyond: policy past the trained length; None: the declared one.
        batch_tokens: most tokens in one forward pass, unless a single window has more. Scores of
            the reference head take 4 V bytes for each of them.

    Raises:
        ValueError: the policy refuses the length.
    """
    limit = shown(model.position, length=length, beyond=beyond)
    views = narrowed(windows, limit=limit)
    weight = model.embedding.token_rows()
    total = sum(view.stop - view.first for view in views)
    nats = torch.empty(total, dtype=torch.promote_types(weight.dtype, torch.float32))
    hits = torch.empty(total, dtype=torch.bool)
    training = model.training
    model.eval()
    try:
        for batch in _batches(views, batch_tokens=batch_tokens):
            positions = Positions.first(batch.size, length=min(length, limit), device=weight.device)
            found = _forward(model, tokens, batch, positions=positions, beyond=beyond)
            slots = batch.slots[:, None] + torch.arange(batch.size - batch.skip)
            nats[slots], hits[slots] = found[0].cpu(), found[1].cpu()
    finally:
        model.train(training)
    return Scores(nats, hits, places(windows))


def shown(position: Position, *, length: int, beyond: Beyond | None) -> int:
    """How many tokens one forward pass may see: T under the policy `window`, else the length."""
    trained = position.trained_length()
    policy = position.past_label() if beyond is None else beyond.name
    if trained is None or policy != Beyond.window.name:
        return length
    return trained


def places(windows: Sequence[Window]) -> Int64[Tensor, " n"]:
    """Position in its window of the input of each scored target."""
    parts = [np.arange(window.first, window.stop) - window.start for window in windows]
    return torch.from_numpy(np.concatenate(parts).astype(np.int64))


@torch.inference_mode()
def _forward(
    model: Decoder,
    tokens: Integer[Tensor, " N"],
    batch: _Batch,
    *,
    positions: Positions,
    beyond: Beyond | None,
) -> tuple[Float[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Losses and hits of the scored targets; the head sees no other state."""
    place = batch.starts[:, None] + torch.arange(batch.size + 1)
    ids = tokens[place].long().to(positions.index.device)
    hidden = model.hidden(ids[:, :-1], positions=positions, beyond=beyond)[:, batch.skip :]
    targets = ids[:, batch.skip + 1 :]
    return model.nats(hidden, targets), model.logits(hidden).argmax(dim=-1) == targets


def _batches(views: Sequence[Window], *, batch_tokens: int) -> Iterator[_Batch]:
    """The passes by shape, in batches of at most `batch_tokens` tokens."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    slot = 0
    for view in views:
        shape = (view.stop - view.start, view.first - view.start)
        groups.setdefault(shape, []).append((view.start, slot))
        slot += view.stop - view.first
    for (size, skip), members in groups.items():
        for part in torch.tensor(members).split(max(1, batch_tokens // size)):
            yield _Batch(starts=part[:, 0], slots=part[:, 1], size=size, skip=skip)
