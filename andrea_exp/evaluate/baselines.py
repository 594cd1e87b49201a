"""What no context, one token of context and no knowledge at all give: lines below a loss curve.

Both counts are fitted on training tokens and scored on the same validation targets, all but the
first token of the text.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float64, Int64, Integer

_CHUNK = 2**20


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
    train: Int64[np.ndarray, " n"], validation: Integer[np.ndarray, " m"], *, vocab: int
) -> Baselines:
    """Fit and score. Counts of pairs are sparse, so memory is that of the training tokens.

    Validation tokens are read in chunks, since they may be those of a large file.

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
    bigram = _WittenBell(train, unigram=unigram)
    sums = np.zeros(2)
    for chunk in _chunks(validation):
        sums -= [np.log(unigram[chunk[1:]]).sum(), np.log(bigram.probabilities(chunk)).sum()]
    unigram_nats, bigram_nats = sums / (len(validation) - 1)
    return Baselines(
        uniform_nats=math.log(vocab),
        unigram_nats=float(unigram_nats),
        bigram_nats=float(bigram_nats),
    )


def _chunks(tokens: Integer[np.ndarray, " m"]) -> Iterator[Int64[np.ndarray, " k"]]:
    """Parts that share one token with their neighbours, so that each target is in one of them."""
    for start in range(0, len(tokens) - 1, _CHUNK):
        yield tokens[start : start + _CHUNK + 1].astype(np.int64)


@final
class _WittenBell:
    """The bigram, fitted."""

    def __init__(
        self, train: Int64[np.ndarray, " n"], *, unigram: Float64[np.ndarray, " V"]
    ) -> None:
        vocab = len(unigram)
        self._unigram = unigram
        self._pairs, self._counts = np.unique(train[:-1] * vocab + train[1:], return_counts=True)
        self._before = np.bincount(train[:-1], minlength=vocab)
        self._followers = np.bincount(self._pairs // vocab, minlength=vocab)

    def probabilities(self, tokens: Int64[np.ndarray, " k"]) -> Float64[np.ndarray, " j"]:
        """Of each token but the first, given the one before it."""
        first, second = tokens[:-1], tokens[1:]
        wanted = first * len(self._unigram) + second
        seen = np.zeros(len(wanted))
        if len(self._pairs):
            slot = np.searchsorted(self._pairs, wanted).clip(max=len(self._pairs) - 1)
            seen = np.where(self._pairs[slot] == wanted, self._counts[slot], 0)
        weight = self._followers[first]
        total = self._before[first] + weight
        backed_off = np.where(total > 0, weight, 1) * self._unigram[second]
        return (seen + backed_off) / np.where(total > 0, total, 1)
