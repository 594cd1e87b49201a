"""What a data set offers: training windows drawn from a random stream, and validation text."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float64, Int64, Integer
from torch import Tensor

from andrea_exp.component import OptionConfig, at_least
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig


class Batch(NamedTuple):
    """One training batch; the loss is the mean of the targets' losses by weight."""

    inputs: Int64[Tensor, "B T"]
    targets: Int64[Tensor, "B T"]
    weights: Float[Tensor, "B T"]

    @classmethod
    def from_windows(cls, windows: Int64[np.ndarray, "B W"]) -> "Batch":
        """Windows of W = T+1 tokens, each the target of the one before; all count alike."""
        ids = torch.from_numpy(windows)
        inputs = ids[:, :-1].contiguous()
        return cls(inputs, ids[:, 1:].contiguous(), torch.ones(inputs.shape))


class Slots(NamedTuple):
    """What each token of a text is in its sentence, for losses by kind of word."""

    names: tuple[str, ...]
    of_token: Int64[np.ndarray, " n"]
    """Index into `names` for each token."""


class Contrast(NamedTuple):
    """A class of words that are used alike, and words of other kinds to compare them with."""

    name: str
    ids: tuple[int, ...]
    others: dict[str, tuple[int, ...]]
    """Ids by the name of their class; none is one of `ids`."""
    pairs: tuple[tuple[int, int], ...]
    """Pairs that are worth a look one by one, alike and unlike."""


@dataclass(kw_only=True, frozen=True)
class DataConfig(OptionConfig, ABC):
    """Configuration of one data set."""

    batch_size: int = field(metadata=at_least(1))
    """B: windows per batch (per accumulation step)."""

    @classmethod
    @abstractmethod
    def has_own_ids(cls) -> bool:
        """Whether its tokens are ids from the start, so that no tokenizer belongs to it."""

    @abstractmethod
    def known_size(self) -> int | None:
        """Number of ids of a data set with ids of its own; None where a tokenizer decides."""

    @abstractmethod
    def load(self, *, tokenizer: TokenizerConfig | None, context: int) -> "Data":
        """The data, ready to draw from.

        Args:
            tokenizer: None exactly if the data set has ids of its own.
            context: T, the length of a training window; too little data for one is refused.

        Raises:
            Refusal: the data cannot be had here; the message says what would work.
        """


class Data(ABC):
    """Loaded data. Training and validation tokens never overlap."""

    @property
    @abstractmethod
    def vocab(self) -> int:
        """Number of ids that can occur."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Hash of every training and validation token, their order and the tokenizer."""

    @property
    @abstractmethod
    def tokenizer(self) -> Tokenizer | None:
        """How text became ids, or None for ids of its own."""

    @property
    @abstractmethod
    def train_tokens(self) -> int | None:
        """Number of distinct training tokens there are; None if they never repeat."""

    @property
    @abstractmethod
    def floor_nats(self) -> float | None:
        """Exact entropy in nats per token where the distribution is known."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, *, count: int, context: int) -> Batch:
        """A batch of `count` training windows, a function of the generator's state alone."""

    @abstractmethod
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        """Training tokens in order, or a part of them, for fitting unigram and bigram lines."""

    @abstractmethod
    def validation(self) -> Integer[np.ndarray, " n"]:
        """Validation tokens, documents one after the other; of a large text mapped from a file."""

    def slots(self) -> Slots | None:
        """What each validation token is in its sentence; None for data that cannot tell."""
        return None

    def words(self) -> tuple[str, ...] | None:
        """Every word, at the index that is its id; None where ids are not words."""
        return None

    def contrast(self) -> Contrast | None:
        """A class of words whose rows training should make alike; None for data that know none."""
        return None

    def optimal_nats(self, windows: Int64[np.ndarray, "B W"]) -> Float64[np.ndarray, "B T"] | None:
        """Loss of the best possible predictor, T = W-1 targets to a window; None if unknown.

        Args:
            windows: pieces of validation text, of which the predictor sees the tokens before a
                target and nothing else.

        Returns:
            -log p of each token of the windows but their first, in nats.
        """
        return None
