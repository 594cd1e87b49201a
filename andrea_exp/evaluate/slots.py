"""Loss by slot: what kind of word a target is in its sentence, where the data can tell.

Scored are the targets of the block protocol at the trained length, the same as in its row. The
excess of a slot above its floor says which part of the language a model has not learned.
"""

from dataclasses import dataclass

import torch

from andrea_exp.data.base import Data
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.lengths import block_sample
from andrea_exp.evaluate.score import score
from andrea_exp.model.decoder import Decoder


@dataclass(kw_only=True, frozen=True)
class SlotLoss:
    """The targets of one slot."""

    slot: str
    loss_nats: float
    """Mean loss."""
    floor_nats: float | None
    """The same of the best possible predictor that sees the same windows; None if unknown."""
    accuracy: float
    """Share of targets that are the most probable token."""
    tokens: int
    """Targets it is the mean of."""


def slot_losses(model: Decoder, data: Data, *, config: EvaluationConfig) -> list[SlotLoss] | None:
    """Losses by slot, in the data's order; slots without a scored target are left out.

    Returns:
        None if the data have no slots.
    """
    slots = data.slots()
    if slots is None:
        return None
    tokens, length = data.validation(), model.sizes.context
    targets = block_sample(len(tokens), context=length, config=config)
    windows = targets.windows(length=length, stride=length)
    scores = score(
        model,
        torch.from_numpy(tokens),
        windows,
        length=length,
        beyond=None,
        batch_tokens=config.batch_tokens,
    )
    floor = Floor(data, tokens).nats(windows)
    places = torch.cat([torch.arange(window.first, window.stop) for window in windows])
    kind = torch.from_numpy(slots.of_token)[places + 1]
    return [
        SlotLoss(
            slot=slots.names[number],
            loss_nats=float(scores.nats[kind == number].double().mean()),
            floor_nats=None if floor is None else float(floor[kind == number].mean()),
            accuracy=float(scores.hits[kind == number].double().mean()),
            tokens=int((kind == number).sum()),
        )
        for number in kind.unique().tolist()
    ]
