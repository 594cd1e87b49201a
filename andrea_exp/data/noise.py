"""Uniform independent ids: nothing can be learned, and every scheme must end at ln V."""

import hashlib
import math
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Int64
from typing_extensions import override

from andrea_exp.component import Refusal, at_least, between
from andrea_exp.data.base import Batch, Data, DataConfig
from andrea_exp.seeding import numpy_generator
from andrea_exp.tokenizer.base import TokenizerConfig


@final
@dataclass(kw_only=True, frozen=True)
class NoiseConfig(DataConfig):
    """Ids without text behind them."""

    vocab: int = field(metadata=at_least(2))
    """V: number of ids, all equally likely."""
    validation_tokens: int = field(metadata=between(1, 10**8))
    """Ids to validate on, the same for every run; as many show what training ids are like."""

    @classmethod
    @override
    def has_own_ids(cls) -> bool:
        return True

    @override
    def known_size(self) -> int:
        return self.vocab

    @override
    def load(self, *, tokenizer: TokenizerConfig | None, context: int) -> "Noise":
        if tokenizer is not None:
            raise Refusal(
                f"data=noise has ids of its own and no text; leave out tokenizer={tokenizer.name}"
            )
        if self.validation_tokens < context + 1:
            raise Refusal(
                f"data.validation_tokens={self.validation_tokens} is fewer than the {context + 1} "
                f"of one window of model.context={context} and its last target; raise it"
            )
        return Noise(vocab=self.vocab, num_tokens=self.validation_tokens)


@final
class Noise(Data):
    """Independent uniform draws. Training never repeats; validation is the same in every run."""

    def __init__(self, *, vocab: int, num_tokens: int) -> None:
        self._vocab = vocab
        self._num_tokens = num_tokens

    @property
    @override
    def vocab(self) -> int:
        return self._vocab

    @property
    @override
    def fingerprint(self) -> str:
        """SHA-256 of the number of ids and the validation ids; training ids have no end."""
        ids = self.validation().astype("<u4").tobytes()
        return hashlib.sha256(f"noise {self._vocab} ".encode() + ids).hexdigest()

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
        return math.log(self._vocab)

    @override
    def draw(self, rng: np.random.Generator, *, count: int, context: int) -> Batch:
        return Batch.from_windows(rng.integers(self._vocab, size=(count, context + 1)))

    @override
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        return self._fixed("data/noise/sample")

    @override
    def validation(self) -> Int64[np.ndarray, " n"]:
        return self._fixed("data/noise/validation")

    def _fixed(self, purpose: str) -> Int64[np.ndarray, " n"]:
        """Ids that do not depend on the run's seed."""
        return numpy_generator(0, purpose).integers(self._vocab, size=self._num_tokens)
