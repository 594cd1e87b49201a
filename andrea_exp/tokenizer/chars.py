"""One id per character of the training text, in the order of their code points."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int64, UInt32
from typing_extensions import override

from andrea_exp.tokenizer.base import NoIdError, Tokenizer, TokenizerConfig, without_bos

_NUM_CODE_POINTS = 0x110000


@final
@dataclass(kw_only=True, frozen=True)
class CharsConfig(TokenizerConfig):
    """Characters; how many there are is known once the training text is read."""

    bos: bool
    """Whether a further id, the last one, begins a document."""

    @override
    def known_size(self) -> None:
        return None

    @override
    def is_learned(self) -> bool:
        return False

    @override
    def identity(self) -> str:
        return f"{self.name} bos={self.bos}"

    @override
    def fit(self, texts: Iterable[str]) -> "Chars":
        occurs = np.zeros(_NUM_CODE_POINTS, dtype=np.bool_)
        for text in texts:
            occurs[_code_points(text)] = True
        return Chars(code_points=np.flatnonzero(occurs).astype(np.uint32), has_bos=self.bos)

    @override
    def restore(self, state: str) -> "Chars":
        alphabet = json.loads(state)["alphabet"]
        return Chars(code_points=np.array(alphabet, dtype=np.uint32), has_bos=self.bos)


@final
class Chars(Tokenizer):
    """Id k is the k-th smallest code point; the beginning of a document, if any, comes last."""

    def __init__(self, *, code_points: UInt32[np.ndarray, " n"], has_bos: bool) -> None:
        self._code_points = code_points
        self._bos = len(code_points) if has_bos else None
        # The last entry stays -1: it answers for every code point above the highest known one.
        self._ids = np.full(int(code_points.max(initial=0)) + 2, -1, dtype=np.int64)
        self._ids[code_points] = np.arange(len(code_points))

    @property
    @override
    def size(self) -> int:
        return len(self._code_points) + (self._bos is not None)

    @property
    @override
    def bos(self) -> int | None:
        return self._bos

    @override
    def encode(self, text: str) -> Int64[np.ndarray, " n"]:
        return self._encode(text, offset=0)

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int64[np.ndarray, " n"]]:
        offset = 0
        for piece in pieces:
            yield self._encode(piece, offset=offset)
            offset += len(piece)

    @override
    def decode(self, ids: Int64[np.ndarray, " n"]) -> str:
        content = without_bos(ids, size=self.size, bos=self.bos)
        return _text(self._code_points[content])

    @override
    def label(self, token: int) -> str:
        return "<bos>" if token == self._bos else repr(chr(self._code_points[token]))

    @override
    def state(self) -> str:
        alphabet: list[int] = self._code_points.tolist()
        return json.dumps({"name": "chars", "alphabet": alphabet, "bos": self._bos is not None})

    def _encode(self, text: str, *, offset: int) -> Int64[np.ndarray, " n"]:
        ids = self._ids[np.minimum(_code_points(text), len(self._ids) - 1)]
        unknown = np.flatnonzero(ids < 0)
        if len(unknown):
            reason = (
                "does not occur in the training text and has no id; remove it, or use "
                "tokenizer=bytes, which has ids for every text"
            )
            raise NoIdError(text, index=int(unknown[0]), offset=offset, reason=reason)
        return ids


# Surrogates pass, so that a text with a lone one comes back as it was.
def _code_points(text: str) -> UInt32[np.ndarray, " n"]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def _text(code_points: UInt32[np.ndarray, " n"]) -> str:
    return code_points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
