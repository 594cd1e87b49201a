"""What no context, one token of context and no knowledge at all give: lines below a loss curve.

Both counts are fitted on training tokens and scored on the same validation targets, all but the
first token of the text.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64


@dataclass(kw_only=True, frozen=True)
class Baselines:
    """Cross entropies per validation target."""

    uniform_nats: float
    """ln V."""
    unigram_nats: float
    """Add-one: (count + 1) / (training tokens + V)."""
    bigram_nats: float
    """Witten-Bell (method C of Witten and Bell 1991, IEEE Trans. Inf. Theory 37): after token a,
    (count of ab + k P(b)) / (count of a + k), where k is the number of different tokens seen after
    a and P is the unigram. It has nothing to tune; an a that was never seen leaves P."""


def baselines(
    train: Int64[np.ndarray, " n"], validation: Int64[np.ndarray, " m"], *, vocab: int
) -> Baselines:
    """Fit and score. Counts of pairs are sparse, so memory is that of the training tokens.

    Args:
        train: training tokens, as one text.
        validation: validation tokens, at least two.
        vocab: V, the number of ids that can occur.

    Raises:
        ValueError: there is no validation target.
    """
    if len(validation) < 2:
        raise ValueError(f"{len(validation)} validation tokens have no target; give at least 2")
    unigram = (np.bincount(train, minlength=vocab) + 1) / (len(train) + vocab)
    bigram = _witten_bell(train, validation, unigram=unigram)
    return Baselines(
        uniform_nats=math.log(vocab),
        unigram_nats=float(-np.log(unigram[validation[1:]]).mean()),
        bigram_nats=float(-np.log(bigram).mean()),
    )


def _witten_bell(
    train: Int64[np.ndarray, " n"],
    validation: Int64[np.ndarray, " m"],
    *,
    unigram: Float64[np.ndarray, " V"],
) -> Float64[np.ndarray, " k"]:
    """Probability of each validation token but the first, given the one before it."""
    vocab = len(unigram)
    pairs, counts = np.unique(train[:-1] * vocab + train[1:], return_counts=True)
    before = np.bincount(train[:-1], minlength=vocab)
    followers = np.bincount(pairs // vocab, minlength=vocab)
    first, second = validation[:-1], validation[1:]
    wanted = first * vocab + second
    seen = np.zeros(len(wanted))
    if len(pairs):
        slot = np.searchsorted(pairs, wanted).clip(max=len(pairs) - 1)
        seen = np.where(pairs[slot] == wanted, counts[slot], 0)
    weight = followers[first]
    total = before[first] + weight
    backed_off = np.where(total > 0, weight, 1) * unigram[second]
    return (seen + backed_off) / np.where(total > 0, total, 1)
