"""One id per UTF-8 byte: id and byte value are the same, and 256 begins a document."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Int64
from typing_extensions import override

from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig, utf8, without_bos

_BOS = 256
_ASCII = 128


@final
@dataclass(kw_only=True, frozen=True)
class BytesConfig(TokenizerConfig):
    """Bytes need no text to be known."""

    @override
    def known_size(self) -> int:
        return _BOS + 1

    @override
    def is_learned(self) -> bool:
        return False

    @override
    def identity(self) -> str:
        return self.name

    @override
    def fit(self, texts: Iterable[str]) -> "Bytes":
        return Bytes()

    @override
    def restore(self, state: str) -> "Bytes":
        return Bytes()


@final
class Bytes(Tokenizer):
    """The 256 byte values and the beginning of a document."""

    @property
    @override
    def size(self) -> int:
        return _BOS + 1

    @property
    @override
    def bos(self) -> int:
        return _BOS

    @override
    def encode(self, text: str) -> Int64[np.ndarray, " n"]:
        return _ids(utf8(text))

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int64[np.ndarray, " n"]]:
        offset = 0
        for piece in pieces:
            yield _ids(utf8(piece, offset=offset))
            offset += len(piece)

    @override
    def decode(self, ids: Int64[np.ndarray, " n"]) -> str:
        """The text of ids; bytes that are not UTF-8, which no text encodes to, give U+FFFD."""
        content = without_bos(ids, size=self.size, bos=self.bos)
        return content.astype(np.uint8).tobytes().decode("utf-8", errors="replace")

    @override
    def label(self, token: int) -> str:
        if token == _BOS:
            return "<bos>"
        return repr(chr(token)) if token < _ASCII else f"0x{token:02X}"

    @override
    def state(self) -> str:
        return json.dumps({"name": "bytes"})


def _ids(encoded: bytes) -> Int64[np.ndarray, " n"]:
    return np.frombuffer(encoded, dtype=np.uint8).astype(np.int64)
