"""Text to ids and back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int64

from andrea_exp.component import OptionConfig


@dataclass(kw_only=True, frozen=True)
class TokenizerConfig(OptionConfig, ABC):
    """Configuration of one tokenizer."""

    @abstractmethod
    def known_size(self) -> int | None:
        """Number of ids if no text is needed to tell, else None."""

    @abstractmethod
    def fit(self, texts: Iterable[str]) -> "Tokenizer":
        """The tokenizer, its ids taken from the training text where they depend on it."""


class Tokenizer(ABC):
    """Ids 0..size-1. Decoding inverts encoding on every text it can encode."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of ids, the one for the beginning of a document included."""

    @property
    @abstractmethod
    def bos(self) -> int | None:
        """The id that begins a document, or None if there is none."""

    @abstractmethod
    def encode(self, text: str) -> Int64[np.ndarray, " n"]:
        """Ids of a text, without `bos`.

        Raises:
            ValueError: a character has no id; the message names it and its place.
        """

    @abstractmethod
    def decode(self, ids: Int64[np.ndarray, " n"]) -> str:
        """The text of ids; `bos` gives nothing."""

    @abstractmethod
    def label(self, token: int) -> str:
        """One id as a person reads it, for tables and plots."""


def without_bos(
    ids: Int64[np.ndarray, " n"], *, size: int, bos: int | None
) -> Int64[np.ndarray, " m"]:
    """The ids that stand for text.

    Raises:
        ValueError: an id is not one of 0..size-1.
    """
    foreign = ids[(ids < 0) | (ids >= size)]
    if len(foreign):
        raise ValueError(f"id {foreign[0]} is not one of the tokenizer's 0..{size - 1}")
    return ids if bos is None else ids[ids != bos]
