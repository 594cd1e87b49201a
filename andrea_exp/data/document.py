"""Texts that data are made of, read in pieces, so that none must fit into memory."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from typing_extensions import override


class Text(ABC):
    """One text. It can be read any number of times."""

    @abstractmethod
    def pieces(self) -> Iterator[str]:
        """The text from its beginning to its end, cut anywhere.

        Raises:
            Refusal: it cannot be read, or is no text; the message says where.
        """

    @abstractmethod
    def where(self, index: int) -> str:
        """The place of the character with this index, as messages call it."""


@final
@dataclass(frozen=True)
class Document(Text):
    """A text in memory, with the name that messages call it by."""

    name: str
    text: str

    @override
    def pieces(self) -> Iterator[str]:
        yield self.text

    @override
    def where(self, index: int) -> str:
        return self.name
