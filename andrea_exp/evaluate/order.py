"""What the order of the earlier tokens is worth to a model.

Windows of T validation tokens are read as they are, and again with all tokens but the last in a
random order. What the last position predicts then differs by what the model knows of the order; it
sees the same tokens before the same last one. How that knowledge came in does not matter: a causal
mask alone tells order to a model of two layers or more, without any position scheme. No permutation
is a reversal, which a bias by distance without a mask could not see either.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64, Integer
from torch import Tensor

from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.segments import spread
from andrea_exp.model.decoder import Decoder
from andrea_exp.seeding import torch_generator


@dataclass(kw_only=True, frozen=True)
class Order:
    """Means over windows, one permutation each."""

    windows: int
    change_nats: float
    """Mean absolute change of the log-probability of an id, over all ids in use."""
    loss_nats: float
    """Loss of the token after the window, read in order."""
    permuted_loss_nats: float
    """The same after the permuted window."""
    rise_nats: float
    """permuted_loss_nats - loss_nats: what the order is worth for the prediction."""
    rise_se: float | None
    """Standard error of the rise, over the windows; None with fewer than two."""


def order(
    model: Decoder, validation: Integer[np.ndarray, " N"], *, config: EvaluationConfig, seed: int
) -> Order | None:
    """Read windows in order and permuted; the model's mode is left as it was.

    Args:
        model: with or without a causal mask.
        validation: the text; at least T + 1 tokens.
        config: how many windows, and how many tokens at once.
        seed: of the permutations.

    Returns:
        None if T < 4: fewer than three earlier tokens have no order but their own and its reversal.
    """
    context = model.sizes.context
    if context < 4:
        return None
    starts = spread(len(validation) - 1, size=context, count=config.order_windows)
    places = torch.tensor(starts)[:, None] + torch.arange(context + 1)
    tokens = torch.from_numpy(validation)[places].long()
    orders = permutations(len(starts), length=context, seed=seed)
    changes: list[Tensor] = []
    losses: list[Tensor] = []
    training = model.training
    model.eval()
    try:
        for part in torch.arange(len(starts)).split(max(1, config.batch_tokens // context)):
            ids, targets = tokens[part, :-1], tokens[part, -1]
            both = [_last(model, ids), _last(model, ids.gather(1, orders[part]))]
            changes.append((both[0] - both[1]).abs().mean(dim=1))
            losses.append(-torch.stack([each.gather(1, targets[:, None])[:, 0] for each in both]))
    finally:
        model.train(training)
    return _record(torch.cat(changes), torch.cat(losses, dim=1))


def permutations(count: int, *, length: int, seed: int) -> Int64[Tensor, "W T"]:
    """One order of the places 0..length-1 for each window; the last place stays.

    Those before it are in a random order that is neither theirs nor its reversal.
    """
    generator = torch_generator(seed, "order/permutation")
    return torch.stack([_permutation(length - 1, generator=generator) for _ in range(count)])


def _permutation(size: int, *, generator: torch.Generator) -> Int64[Tensor, " T"]:
    same = torch.arange(size)
    found = same
    while torch.equal(found, same) or torch.equal(found, same.flip(0)):
        found = torch.randperm(size, generator=generator)
    return torch.cat([found, torch.tensor([size])])


@torch.inference_mode()
def _last(model: Decoder, ids: Int64[Tensor, "B T"]) -> Float[Tensor, "B U"]:
    """Log-probabilities of the ids in use after the last token, in float64 on the CPU."""
    hidden = model.hidden(ids.to(model.embedding.token_rows().device))[:, -1:]
    logits = model.logits(hidden)[:, 0, : model.sizes.used_vocab]
    return logits.double().log_softmax(dim=-1).cpu()


def _record(changes: Tensor, losses: Float[Tensor, "2 W"]) -> Order:
    rise = losses[1] - losses[0]
    count = len(rise)
    return Order(
        windows=count,
        change_nats=float(changes.mean()),
        loss_nats=float(losses[0].mean()),
        permuted_loss_nats=float(losses[1].mean()),
        rise_nats=float(rise.mean()),
        rise_se=float(rise.std() / count**0.5) if count > 1 else None,
    )
