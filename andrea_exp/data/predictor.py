"""The best possible predictor of a known language, which sees a window and nothing before it.

A window may begin in the middle of a sentence, and what it refers to may lie before it. The best
prediction is then the mean over the hidden states by their probability given the visible words
(Bayes): the forward algorithm of hidden Markov models (Rabiner 1989, Proc. IEEE 77, section III),
begun from the stationary distribution. No model that sees the same window has a smaller expected
loss at any position.

In a language in which words soon tell the state, only finitely many such beliefs can arise. They
are listed once, and prediction is then a walk from belief to belief.
"""

from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float64, Int64

from andrea_exp.data.chain import Chain

DIGITS = 12
"""Beliefs that agree to so many decimals are one; rounding alone moves them by less."""


class _Belief(NamedTuple):
    """Probabilities of hidden states."""

    states: Int64[np.ndarray, " n"]
    """Ascending."""
    weights: Float64[np.ndarray, " n"]
    """Positive; they add up to 1."""


class _Move(NamedTuple):
    """A word after a belief, and what to believe then."""

    source: int
    word: int
    target: int
    probability: float


@final
class Predictor:
    """Predictions of a chain's texts from their visible part.

    Beliefs that are certain of a state have the state's number, the others follow.
    """

    def __init__(self, chain: Chain) -> None:
        moves = list(_moves(chain))
        self._start = chain.num_states
        self._source = np.concatenate([chain.source, [move.source for move in moves]])
        self._target = np.concatenate([chain.target, [move.target for move in moves]])
        self._probability = np.concatenate(
            [chain.probability, [move.probability for move in moves]]
        )
        word = np.concatenate([chain.word, [move.word for move in moves]])
        self._num_beliefs = int(self._source.max()) + 1
        shape = (self._num_beliefs, chain.num_words)
        self._after = np.full(shape, -1)
        self._after[self._source, word] = self._target
        self._nats = np.full(shape, np.inf)
        self._nats[self._source, word] = -np.log(self._probability)

    def losses(self, windows: Int64[np.ndarray, "B W"]) -> Float64[np.ndarray, "B T"]:
        """-log p in nats of each word of the windows but their first, T = W-1.

        Raises:
            ValueError: a window is no part of any text of the language.
        """
        belief = np.full(len(windows), self._start)
        nats = np.empty(windows.shape)
        for index in range(windows.shape[1]):
            words = windows[:, index]
            nats[:, index] = self._nats[belief, words]
            belief = self._after[belief, words]
            if (belief < 0).any():
                row = int((belief < 0).argmax())
                raise ValueError(
                    f"window {row} is no text of the language: word {words[row]} at {index} cannot "
                    "follow what stands before it"
                )
        return nats[:, 1:]

    def by_position(self, length: int) -> Float64[np.ndarray, " T"]:
        """Expected loss in nats at each position of a window of `length` inputs.

        Entry t is the entropy of a word given the t+1 words before it. It never rises, and it
        tends to the entropy rate.
        """
        flow = np.bincount(
            self._source,
            weights=-self._probability * np.log(self._probability),
            minlength=self._num_beliefs,
        )
        share = np.zeros(self._num_beliefs)
        share[self._start] = 1
        expected: list[float] = []
        for _ in range(length):
            share = np.bincount(
                self._target,
                weights=share[self._source] * self._probability,
                minlength=self._num_beliefs,
            )
            expected.append(float(share @ flow))
        return np.array(expected)


@final
class _Census:
    """The beliefs that are not certain of a state, numbered as they turn up."""

    def __init__(self, *, num_states: int) -> None:
        self.beliefs: list[_Belief] = []
        self._num_states = num_states
        self._numbers: dict[bytes, int] = {}

    def number(self, belief: _Belief) -> int:
        """The number of a belief; a new one is added to the list."""
        if len(belief.states) == 1:
            return int(belief.states[0])
        key = belief.states.tobytes() + belief.weights.round(DIGITS).tobytes()
        if key not in self._numbers:
            self._numbers[key] = self._num_states + len(self.beliefs)
            self.beliefs.append(belief)
        return self._numbers[key]


def _moves(chain: Chain) -> Iterator[_Move]:
    """Every move from a belief that is not certain, beginning with the stationary one."""
    after = np.full((chain.num_states, chain.num_words), -1)
    after[chain.source, chain.word] = chain.target
    probability = np.zeros(after.shape)
    probability[chain.source, chain.word] = chain.probability
    census = _Census(num_states=chain.num_states)
    census.number(_Belief(np.arange(chain.num_states), chain.stationary))
    # The list grows while it is walked, until no belief leads to a new one.
    for index, belief in enumerate(census.beliefs):
        joint = belief.weights[:, None] * probability[belief.states]
        total = joint.sum(axis=0)
        for word in total.nonzero()[0].tolist():
            later = _merged(joint[:, word] / total[word], after[belief.states, word])
            yield _Move(chain.num_states + index, word, census.number(later), float(total[word]))


def _merged(weights: Float64[np.ndarray, " n"], states: Int64[np.ndarray, " n"]) -> _Belief:
    """The belief with these weights; entries of one state are added up."""
    possible = weights > 0
    found, place = np.unique(states[possible], return_inverse=True)
    return _Belief(found, np.bincount(place, weights=weights[possible]))
