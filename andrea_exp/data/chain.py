"""A language as a Markov chain of hidden states, each step of which says one word.

In every state different steps say different words, so whoever knows one state and the words after
it knows all later states. The probability of a step is then that of its word given the whole past,
and the entropy rate of the endless text is the mean entropy of a step.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Float64, Int64

State = tuple[str, ...]
"""A name of a state, of as many parts as one likes."""


class Step(NamedTuple):
    """One word, from one state to the next."""

    source: State
    word: str
    slot: str
    """What the word is in its sentence."""
    target: State
    probability: float


class _Exits(NamedTuple):
    """The steps out of one state, in lists, since a walk reads one entry at a time."""

    reach: list[float]
    """Their cumulative probabilities; the last is 1, whatever rounding says."""
    steps: list[int]
    targets: list[int]


@final
class Chain:
    """Steps and states by number. Its texts begin anywhere in the endless text."""

    def __init__(self, steps: Iterable[Step], *, words: Sequence[str]) -> None:
        """Number words and steps in their order, states by their first step.

        Raises:
            ValueError: the steps out of a state say one word twice or do not add up to 1.
            KeyError: a word is not one of `words`, or a state has no step out of it.
        """
        steps = list(steps)
        states = {
            name: number for number, name in enumerate(dict.fromkeys(s.source for s in steps))
        }
        ids = {word: number for number, word in enumerate(words)}
        self.num_words = len(ids)
        self.num_states = len(states)
        self.source = np.array([states[step.source] for step in steps])
        self.target = np.array([states[step.target] for step in steps])
        self.word = np.array([ids[step.word] for step in steps])
        self.slot = [step.slot for step in steps]
        self.probability = np.array([step.probability for step in steps], dtype=np.float64)
        self._check(list(states))
        self.nats = -np.log(self.probability)
        self.stationary = self._stationary()
        self._start = self.stationary.cumsum()
        self._exits = self._by_state()

    @property
    def entropy_rate(self) -> float:
        """Nats per word of the endless text."""
        return float((self.stationary[self.source] * self.probability * self.nats).sum())

    def walk(
        self, rng: np.random.Generator, *, count: int, length: int
    ) -> Int64[np.ndarray, "B W"]:
        """Numbers of the steps of `count` independent texts of `length` words.

        Each begins in a random state of the endless text, not at the beginning of a sentence.
        `word[steps]` are the ids, `nats[steps]` their -log p given the whole past.
        """
        drawn = rng.random((count, length + 1))
        starts = np.searchsorted(self._start[:-1], drawn[:, 0], side="right")
        walks = [
            self._walk(start, choices)
            for start, choices in zip(starts.tolist(), drawn[:, 1:].tolist(), strict=True)
        ]
        return np.array(walks, dtype=np.int64).reshape(count, length)

    def _walk(self, state: int, choices: list[float]) -> list[int]:
        walked: list[int] = []
        for choice in choices:
            reach, steps, targets = self._exits[state]
            taken = bisect_right(reach, choice)
            walked.append(steps[taken])
            state = targets[taken]
        return walked

    def _by_state(self) -> list[_Exits]:
        steps: defaultdict[int, list[int]] = defaultdict(list)
        for number, state in enumerate(self.source.tolist()):
            steps[state].append(number)
        return [
            _Exits(
                reach=[*list(accumulate(self.probability[steps[state]].tolist()))[:-1], 1.0],
                steps=steps[state],
                targets=self.target[steps[state]].tolist(),
            )
            for state in range(self.num_states)
        ]

    def _check(self, names: Sequence[State]) -> None:
        pairs, counts = np.unique(self.source * self.num_words + self.word, return_counts=True)
        if counts.max() > 1:
            state = names[pairs[counts.argmax()] // self.num_words]
            raise ValueError(f"two steps out of {state} say one word; merge or tell them apart")
        total = np.bincount(self.source, weights=self.probability)
        worst = int(abs(total - 1).argmax())
        if abs(total[worst] - 1) > 1e-12 or self.probability.min() <= 0:
            raise ValueError(
                f"the steps out of {names[worst]} have probabilities that add up to "
                f"{total[worst]}; they must be positive and add up to 1"
            )

    def _stationary(self) -> Float64[np.ndarray, " S"]:
        """How often the endless text is in each state: what flows in, flows out, and adds up to 1.

        One equation of the balance follows from the others and makes room for the sum.
        """
        # Two fifths of a second, for this data alone; scipy has no types of its own.
        from scipy import sparse  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]
        from scipy.sparse import linalg  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

        count = self.num_states
        shape = (count, count)
        flow = sparse.csr_array((self.probability, (self.target, self.source)), shape=shape)
        balance = sparse.vstack([np.ones((1, count)), (flow - sparse.eye_array(count))[1:]])
        share = linalg.spsolve(balance.tocsc(), np.eye(1, count)[0])
        return share / share.sum()
