"""Tokens of a text, in memory or in a file that is mapped into it."""

import hashlib
import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Int64, UInt
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.data.document import Text
from andrea_exp.tokenizer.base import NoIdError, Tokenizer


class Tokens(ABC):
    """The ids of documents one after the other, in the smallest type that holds the vocabulary."""

    @property
    @abstractmethod
    def ids(self) -> UInt[np.ndarray, " n"]:
        """All of them."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Hash of the ids and of where documents start."""

    @abstractmethod
    def release(self) -> None:
        """Give back the memory that reading has filled and that can be filled again."""


@final
class StoredTokens(Tokens):
    """Tokens in memory."""

    def __init__(self, ids: UInt[np.ndarray, " n"], *, digest: str) -> None:
        self._ids = ids
        self._digest = digest

    @property
    @override
    def ids(self) -> UInt[np.ndarray, " n"]:
        return self._ids

    @property
    @override
    def digest(self) -> str:
        return self._digest

    @override
    def release(self) -> None:
        """Nothing can be given back."""


@final
class MappedTokens(Tokens):
    """Tokens of a file. A copy in another process maps the file anew."""

    def __init__(self, path: Path, *, dtype: str, digest: str) -> None:
        """Map a file that is not empty and never changes; `dtype` is NumPy's name of its type."""
        with path.open("rb") as file:
            # A private copy rather than read-only: torch takes only arrays that can be written.
            self._mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        self._ids = np.frombuffer(self._mapping, dtype=np.dtype(dtype))
        self._digest = digest
        self._again = partial(MappedTokens, path, dtype=dtype, digest=digest)

    @property
    @override
    def ids(self) -> UInt[np.ndarray, " n"]:
        return self._ids

    @property
    @override
    def digest(self) -> str:
        return self._digest

    @override
    def release(self) -> None:
        self._mapping.madvise(mmap.MADV_DONTNEED)

    @override
    def __reduce__(self) -> tuple[partial["MappedTokens"], tuple[()]]:
        """By name, not by content."""
        return self._again, ()


class Piece(NamedTuple):
    """Ids of a part of a document."""

    ids: Int64[np.ndarray, " n"]
    begins: bool
    """Whether the document starts here."""


def encoded(documents: Iterable[Text], *, tokenizer: Tokenizer, part: str) -> Iterator[Piece]:
    """The ids of documents, each preceded by the tokenizer's BOS if it has one.

    Raises:
        Refusal: a text cannot be encoded; the message says which character, and where.
    """
    opening = np.array([] if tokenizer.bos is None else [tokenizer.bos], dtype=np.int64)
    for document in documents:
        yield Piece(opening, begins=True)
        try:
            for ids in tokenizer.encode_pieces(document.pieces()):
                yield Piece(ids, begins=False)
        except NoIdError as error:
            place = document.where(error.index)
            raise Refusal(f"{part} text {place}: {error}") from error


def smallest_type(size: int) -> str:
    """NumPy's name of the smallest unsigned type for ids below `size`, in little-endian order."""
    return next(f"<u{width}" for width in (1, 2, 4) if size <= 256**width)


@final
class Digest:
    """Hash of tokens and of where documents start, however they are cut into pieces."""

    def __init__(self) -> None:
        self._ids = hashlib.sha256()
        self._starts = hashlib.sha256()
        self._count = 0

    def update(self, piece: Piece) -> None:
        """Take in what comes next."""
        if piece.begins:
            self._starts.update(self._count.to_bytes(8, "little"))
        self._ids.update(piece.ids.astype("<u4").tobytes())
        self._count += len(piece.ids)

    def hexdigest(self) -> str:
        """Of all that was taken in."""
        return hashlib.sha256(self._ids.digest() + self._starts.digest()).hexdigest()
