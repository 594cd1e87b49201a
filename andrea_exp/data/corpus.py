"""Text as token arrays: documents one after the other, windows at random offsets."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from jaxtyping import Int64, Integer, UInt
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.data.base import Batch, Data
from andrea_exp.data.cache import key_of
from andrea_exp.data.document import Document
from andrea_exp.data.fitting import fit
from andrea_exp.data.tokens import Digest, Piece, StoredTokens, Tokens, encoded, smallest_type
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig

_STRETCH = 2**16


@final
class Corpus(Data):
    """Training and validation documents as tokens.

    A document is preceded by the tokenizer's BOS if it has one. A training window starts anywhere
    and may cross documents.
    """

    def __init__(
        self,
        *,
        train: Tokens,
        validation: Tokens,
        tokenizer: Tokenizer,
        sample_tokens: int | None = None,
    ) -> None:
        """Tokens as they are; `sample_tokens` limits `training_sample`, None leaves it whole."""
        self._train = train
        self._validation = validation
        self._tokenizer = tokenizer
        self._sample_tokens = sample_tokens

    @classmethod
    def build(
        cls,
        *,
        train: Sequence[Document],
        validation: Sequence[Document],
        tokenizer: TokenizerConfig,
        context: int,
    ) -> "Corpus":
        """Fit the tokenizer on the training documents, then encode all of them, in memory.

        Raises:
            Refusal: a text cannot be encoded, or is shorter than one window of `context` tokens
                and its last target.
        """
        known = fit(tokenizer, train, digest=lambda: key_of(*(each.text for each in train)))
        tokens: dict[str, StoredTokens] = {}
        for part, documents in {"training": train, "validation": validation}.items():
            pieces = encoded(documents, tokenizer=known, part=part)
            tokens[part] = _stored(pieces, size=known.size)
            check_length(len(tokens[part].ids), context=context, part=part)
        return cls(train=tokens["training"], validation=tokens["validation"], tokenizer=known)

    @property
    @override
    def vocab(self) -> int:
        return self._tokenizer.size

    @property
    @override
    def fingerprint(self) -> str:
        """SHA-256 of the tokenizer, the tokens, and where documents start."""
        parts = [self._tokenizer.state(), self._train.digest, self._validation.digest]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    @override
    def tokenizer(self) -> Tokenizer:
        return self._tokenizer

    @property
    @override
    def train_tokens(self) -> int:
        return len(self._train.ids)

    @property
    @override
    def floor_nats(self) -> None:
        return None

    @override
    def draw(self, rng: np.random.Generator, *, count: int, context: int) -> Batch:
        windows = np.lib.stride_tricks.sliding_window_view(self._train.ids, context + 1)
        offsets = rng.integers(len(windows), size=count)
        batch = Batch.from_windows(windows[offsets].astype(np.int64))
        self._train.release()
        return batch

    @override
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        sample = _spread(self._train.ids, limit=self._sample_tokens)
        self._train.release()
        return sample

    @override
    def validation(self) -> Integer[np.ndarray, " n"]:
        return self._validation.ids


def check_length(count: int, *, context: int, part: str) -> None:
    """Refuse a text without one window.

    Raises:
        Refusal: with both numbers.
    """
    if count < context + 1:
        raise Refusal(
            f"the {part} text has {count} tokens, fewer than the {context + 1} of one window "
            f"of model.context={context} and its last target; give more text, or lower "
            "model.context"
        )


def _stored(pieces: Iterable[Piece], *, size: int) -> StoredTokens:
    dtype, digest = smallest_type(size), Digest()
    arrays = [np.array([], dtype=dtype)]
    for piece in pieces:
        digest.update(piece)
        arrays.append(piece.ids.astype(dtype))
    return StoredTokens(np.concatenate(arrays), digest=digest.hexdigest())


def _spread(ids: UInt[np.ndarray, " n"], *, limit: int | None) -> Int64[np.ndarray, " m"]:
    """All ids, or evenly spread stretches of at most `limit` together."""
    if limit is None or len(ids) <= limit:
        return ids.astype(np.int64)
    size = min(_STRETCH, limit)
    count = limit // size
    starts = [index * (len(ids) - size) // max(count - 1, 1) for index in range(count)]
    return np.concatenate([ids[start : start + size] for start in starts]).astype(np.int64)
