"""Text to ids and back."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int64

from andrea_exp.component import OptionConfig


@final
class NoIdError(ValueError):
    """A character that a tokenizer has no id for."""

    def __init__(self, text: str, *, index: int, offset: int, reason: str) -> None:
        """What stands at `index` of a piece that itself begins at `offset` of its text."""
        self.index = offset + index
        """Place of the character in the whole text."""
        super().__init__(
            f"character {text[index]!r} (U+{ord(text[index]):04X}) at index {self.index} {reason}"
        )


@dataclass(kw_only=True, frozen=True)
class TokenizerConfig(OptionConfig, ABC):
    """Configuration of one tokenizer."""

    @abstractmethod
    def known_size(self) -> int | None:
        """Number of ids if no text is needed to tell, else None."""

    @abstractmethod
    def is_learned(self) -> bool:
        """Whether fitting takes so long that its result is worth keeping on the disk."""

    @abstractmethod
    def identity(self) -> str:
        """All that decides the ids beside the training text: values, and versions of libraries."""

    @abstractmethod
    def fit(self, texts: Iterable[str]) -> "Tokenizer":
        """The tokenizer, its ids taken from the training text where they depend on it.

        Args:
            texts: the training text in pieces, which are walked once. How it is cut makes no
                difference, and so a word may be read across the border of two documents.

        Raises:
            ValueError: there is no such tokenizer for this text.
        """

    @abstractmethod
    def restore(self, state: str) -> "Tokenizer":
        """The tokenizer whose `state` this is."""


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
            NoIdError: a character has no id; the message names it and its place.
        """

    @abstractmethod
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int64[np.ndarray, " n"]]:
        """Ids of one text that comes in pieces, however it was cut: joined, those of `encode`.

        Raises:
            NoIdError: as `encode`, with the place in the whole text.
        """

    @abstractmethod
    def decode(self, ids: Int64[np.ndarray, " n"]) -> str:
        """The text of ids; `bos` gives nothing."""

    @abstractmethod
    def label(self, token: int) -> str:
        """One id as a person reads it, for tables and plots."""

    @abstractmethod
    def state(self) -> str:
        """All that `restore` needs, as JSON. Equal for tokenizers that are equal."""


def utf8(text: str, *, offset: int = 0) -> bytes:
    """The bytes of a piece of text that begins at index `offset` of the whole.

    Raises:
        NoIdError: half of a surrogate pair, which has none.
    """
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        reason = "is half of a surrogate pair and has no UTF-8 bytes; remove it from the text"
        raise NoIdError(text, index=error.start, offset=offset, reason=reason) from error


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
