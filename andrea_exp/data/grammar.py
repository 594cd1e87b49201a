"""English-like sentences whose exact entropy is known, also for windows that begin anywhere.

The text is one endless stream of the sentences of `grammar_rules`; every training window and the
validation text are independent pieces of it that begin at a random place, mostly in the middle of a
sentence. There are no document starts, for a reason: wherever an evaluation cuts the validation
text, and however long its windows are, a window is again such a piece. So the training windows, the
windows of every protocol and length, and the floor all speak of one distribution, and the floor is
exact for the very windows that are scored: that of the best predictor which sees the same tokens
(`predictor`). It falls with the length, as fewer references point before the window, towards the
entropy rate of the stream.
"""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Float64, Int64
from typing_extensions import override

from andrea_exp.component import Range, Refusal, between
from andrea_exp.data.base import Batch, Contrast, Data, DataConfig, Slots
from andrea_exp.data.chain import Chain
from andrea_exp.data.grammar_rules import Shares, steps
from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.data.predictor import Predictor
from andrea_exp.seeding import numpy_generator
from andrea_exp.tokenizer.base import TokenizerConfig

INSIDE = {"range": Range(low=0, high=1, open_low=True, open_high=True)}
"""Field metadata: shares that leave no form of a sentence out."""


@final
@dataclass(kw_only=True, frozen=True)
class GrammarConfig(DataConfig):
    """Sentences about pets, music and weekdays, with references to earlier sentences."""

    statements: float = field(metadata=INSIDE)
    """Share of the sentences that say what a pet does to another."""
    music: float = field(metadata=INSIDE)
    """Share of those about somebody who plays an instrument; references have the rest."""
    near: float = field(metadata=INSIDE)
    """Share of the statements with another noun between subject and verb."""
    dated: float = field(metadata=INSIDE)
    """Share of statements and music with a weekday."""
    validation_tokens: int = field(metadata=between(1, 10**8))
    """Words to validate on, the same for every run; as many show what training words are like."""

    def __post_init__(self) -> None:
        """Leave a share for references.

        Raises:
            ValueError: there is none left, or a value is out of its range.
        """
        super().__post_init__()
        if self.statements + self.music >= 1:
            raise ValueError(
                f"statements={self.statements:g} and music={self.music:g} leave nothing for "
                "references; together they must be below 1"
            )

    @classmethod
    @override
    def has_own_ids(cls) -> bool:
        return True

    @override
    def known_size(self) -> int:
        return len(ENGLISH.words)

    @override
    def load(self, *, tokenizer: TokenizerConfig | None, context: int) -> "Grammar":
        if tokenizer is not None:
            raise Refusal(
                f"data=grammar has words as ids of its own; leave out tokenizer={tokenizer.name}"
            )
        if self.validation_tokens < context + 1:
            raise Refusal(
                f"data.validation_tokens={self.validation_tokens} is fewer than the {context + 1} "
                f"of one window of model.context={context} and its last target; raise it"
            )
        shares = Shares(
            statements=self.statements, music=self.music, near=self.near, dated=self.dated
        )
        return Grammar(shares=shares, num_tokens=self.validation_tokens)


@final
class Grammar(Data):
    """Words as ids. Training never repeats; validation is the same in every run."""

    def __init__(self, *, shares: Shares, num_tokens: int) -> None:
        self._num_tokens = num_tokens
        self._chain = Chain(steps(ENGLISH, shares), words=ENGLISH.words)

    @override
    def words(self) -> tuple[str, ...]:
        return ENGLISH.words

    @override
    def contrast(self) -> Contrast:
        """Pets against weekdays and instruments, which follow and precede other words."""
        pairs = (("cat", "dog"), ("cat", "pet"), ("cat", "Tuesday"), ("cat", "xylophone"))
        return Contrast(
            name="pets",
            ids=self.word_class("pets"),
            others={name: self.word_class(name) for name in ("weekdays", "instruments")},
            pairs=tuple((ENGLISH.words.index(a), ENGLISH.words.index(b)) for a, b in pairs),
        )

    @staticmethod
    def word_class(name: str) -> tuple[int, ...]:
        """Ids of the words of one class: pets, weekdays, instruments, names, verbs or function.

        Raises:
            ValueError: there is no such class.
        """
        classes = ENGLISH.classes
        if name not in classes:
            raise ValueError(f"no words are called {name!r}; there are {', '.join(classes)}")
        return tuple(ENGLISH.words.index(word) for word in classes[name])

    @property
    @override
    def vocab(self) -> int:
        return len(ENGLISH.words)

    @property
    @override
    def fingerprint(self) -> str:
        """SHA-256 of words, probabilities and validation ids; training ids have no end."""
        digest = hashlib.sha256(f"grammar {' '.join(ENGLISH.words)} ".encode())
        digest.update(self._chain.probability.astype("<f8").tobytes())
        digest.update(self.validation().astype("<u4").tobytes())
        return digest.hexdigest()

    @property
    @override
    def tokenizer(self) -> None:
        return None

    @property
    @override
    def train_tokens(self) -> None:
        return None

    @property
    @override
    def floor_nats(self) -> float:
        """Entropy rate of the endless text: what windows of growing length tend to from above."""
        return self._chain.entropy_rate

    @override
    def draw(self, rng: np.random.Generator, *, count: int, context: int) -> Batch:
        steps = self._chain.walk(rng, count=count, length=context + 1)
        return Batch.from_windows(self._chain.word[steps])

    @override
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        return self._chain.word[self._text("data/grammar/sample")]

    @override
    def validation(self) -> Int64[np.ndarray, " n"]:
        return self._chain.word[self._validation_steps]

    @override
    def slots(self) -> Slots:
        numbers = {name: number for number, name in enumerate(dict.fromkeys(self._chain.slot))}
        of_step = np.array([numbers[name] for name in self._chain.slot])
        return Slots(tuple(numbers), of_step[self._validation_steps])

    @override
    def optimal_nats(self, windows: Int64[np.ndarray, "B W"]) -> Float64[np.ndarray, "B T"]:
        return self._predictor.losses(windows)

    def floor_by_position(self, length: int) -> Float64[np.ndarray, " T"]:
        """Exact expected loss, in nats, of the best predictor at each position of a window.

        Entry t is the entropy of a word given the t+1 words before it.
        """
        return self._predictor.by_position(length)

    @cached_property
    def _predictor(self) -> Predictor:
        return Predictor(self._chain)

    @cached_property
    def _validation_steps(self) -> Int64[np.ndarray, " n"]:
        return self._text("data/grammar/validation")

    def _text(self, purpose: str) -> Int64[np.ndarray, " n"]:
        """The steps of a text that does not depend on the run's seed."""
        rng = numpy_generator(0, purpose)
        return self._chain.walk(rng, count=1, length=self._num_tokens)[0]
