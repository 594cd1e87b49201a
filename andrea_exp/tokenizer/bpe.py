"""Byte-level byte-pair encoding: ids are the byte values, then the beginning, then the merges.

Sennrich et al. 2016 (arXiv:1508.07909) over bytes, as GPT-2 has it (Radford et al. 2019), but for
the words (see `words`) and for BOS, which is 256 here and the last id there. The library
`tokenizers` learns the merges and applies them to single words. Cutting the text into words is done
here: that is several times faster, and lets a text of any length be encoded piece by piece.
"""

import json
import os
import unicodedata
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, final

import numpy as np
from jaxtyping import Int64
from tokenizers import Tokenizer as Library
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split
from tokenizers.trainers import BpeTrainer
from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig, utf8, without_bos
from andrea_exp.tokenizer.words import PATTERN, spread, take_unsettled, words_of

_BOS = 256
# Words whose ids are remembered; a natural text repeats few words most of the time.
_REMEMBERED = 2**18
_PARALLEL = "TOKENIZERS_PARALLELISM"


@final
@dataclass(kw_only=True, frozen=True)
class BpeConfig(TokenizerConfig):
    """A vocabulary learned from the training text."""

    size: int = field(metadata=at_least(_BOS + 1))
    """Number of ids: 256 bytes, the beginning of a document, and as many merges as are left."""
    sample_characters: int = field(metadata=at_least(1))
    """Most characters to learn from. Of a longer text every second block of 65,536 characters is
    left out, or all but every fourth, eighth and so on, evenly over the whole of it."""

    @override
    def known_size(self) -> int:
        return self.size

    @override
    def is_learned(self) -> bool:
        return True

    @override
    def identity(self) -> str:
        values = {
            "name": self.name,
            "size": self.size,
            "sample_characters": self.sample_characters,
            "pattern": PATTERN,
            "unicode": unicodedata.unidata_version,
            "tokenizers": version("tokenizers"),
        }
        return json.dumps(values)

    @override
    def fit(self, texts: Iterable[str]) -> "Bpe":
        """Learn the merges; the same text gives the same ones.

        Raises:
            ValueError: the text has too few different words for so many merges.
        """
        merges = _learn(spread(texts, characters=self.sample_characters), size=self.size)
        learned = Bpe(merges=merges)
        if learned.size < self.size:
            raise ValueError(
                f"the training text gives only {learned.size} of size={self.size} ids; "
                f"lower it to at most {learned.size}, or give more text"
            )
        return learned

    @override
    def restore(self, state: str) -> "Bpe":
        return Bpe(merges=[(left, right) for left, right in json.loads(state)["merges"]])


@final
class Bpe(Tokenizer):
    """Ids 0..255 are bytes, 256 begins a document, 257 on are merges in the order of learning."""

    def __init__(self, *, merges: list[tuple[str, str]]) -> None:
        """Merges of pairs of tokens, a byte written as the library's stand-in character."""
        self._merges = merges
        vocabulary = _vocabulary(merges)
        value = {character: byte for byte, character in enumerate(_stand_ins())}
        self._bytes = [b""] * (max(_BOS, *vocabulary.values()) + 1)
        for token, identifier in vocabulary.items():
            self._bytes[identifier] = bytes(value[character] for character in token)
        self._library = Library(BPE(vocab=vocabulary, merges=merges))
        self._library.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
        self._known: dict[str, bytes] = {}

    @property
    @override
    def size(self) -> int:
        return len(self._bytes)

    @property
    @override
    def bos(self) -> int:
        return _BOS

    @override
    def encode(self, text: str) -> Int64[np.ndarray, " n"]:
        utf8(text)
        return self._encode(words_of(text))

    @override
    def encode_pieces(self, pieces: Iterable[str]) -> Iterator[Int64[np.ndarray, " n"]]:
        offset, rest = 0, ""
        for piece in pieces:
            utf8(piece, offset=offset)
            offset += len(piece)
            words = words_of(rest + piece)
            rest = take_unsettled(words)
            yield self._encode(words)
        yield self._encode(words_of(rest))

    @override
    def decode(self, ids: Int64[np.ndarray, " n"]) -> str:
        """The text of ids; bytes that are not UTF-8, which no text encodes to, give U+FFFD."""
        content: list[int] = without_bos(ids, size=self.size, bos=self.bos).tolist()
        return b"".join([self._bytes[token] for token in content]).decode("utf-8", "replace")

    @override
    def label(self, token: int) -> str:
        if token == _BOS:
            return "<bos>"
        content = self._bytes[token]
        try:
            return repr(content.decode("utf-8"))
        except UnicodeDecodeError:
            return f"0x{content.hex().upper()}"

    @override
    def state(self) -> str:
        return json.dumps({"name": "bpe", "merges": self._merges}, ensure_ascii=False)

    @override
    def __reduce__(self) -> tuple[partial["Bpe"], tuple[()]]:
        """Copies start without remembered words."""
        return partial(Bpe, merges=self._merges), ()

    def _encode(self, words: list[str]) -> Int64[np.ndarray, " n"]:
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        new = sorted(set(words) - self._known.keys())
        with _serial():
            found = self._library.encode_batch_fast(new)
        for word, encoding in zip(new, found, strict=True):
            self._known[word] = np.array(encoding.ids, dtype=np.uint32).tobytes()
        packed = b"".join([self._known[word] for word in words])
        return np.frombuffer(packed, dtype=np.uint32).astype(np.int64)


def _stand_ins() -> list[str]:
    """For each byte the printable character by which the library writes it.

    The bytes that print stand for themselves; the rest, in order, for U+0100 and what follows.
    """
    prints = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in prints else next(others)) for byte in range(_BOS)]


def _vocabulary(merges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Token -> id. Two merges may make one and the same token, which keeps its first id."""
    vocabulary = {character: byte for byte, character in enumerate(_stand_ins())}
    for left, right in merges:
        vocabulary.setdefault(left + right, len(vocabulary) + 1)  # 256 is no token of the text
    return vocabulary


def _learn(blocks: Iterable[str], *, size: int) -> list[tuple[str, str]]:
    """Merges in the order of learning, for `size` ids if the text has so many."""
    library = Library(BPE())
    # Words are handed over with a NUL between them, so that both sides agree on their borders; a
    # NUL of the text itself teaches nothing.
    library.pre_tokenizer = Sequence(
        [Split("\0", "removed"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    trainer = BpeTrainer(
        vocab_size=size - 1,
        initial_alphabet=_stand_ins(),
        special_tokens=[],
        show_progress=False,
    )
    with _serial():
        library.train_from_iterator(
            ("\0".join(words_of(block)) for block in blocks), trainer=trainer
        )
    content: Any = json.loads(library.to_str())
    return [(left, right) for left, right in content["model"]["merges"]]


@contextmanager
def _serial() -> Generator[None]:
    """The library without threads: it would warn on standard error of every later fork."""
    before = os.environ.get(_PARALLEL)
    os.environ[_PARALLEL] = "false"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PARALLEL]
        else:
            os.environ[_PARALLEL] = before
