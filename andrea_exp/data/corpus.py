"""Text as token arrays: documents one after the other, windows at random offsets."""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np
from jaxtyping import Int64, UInt
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.data.base import Batch, Data
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig


class Document(NamedTuple):
    """One text, for example a file, with the name that messages call it by."""

    name: str
    text: str


class Tokens(NamedTuple):
    """The ids of documents one after the other, in the smallest type that holds the vocabulary."""

    ids: UInt[np.ndarray, " n"]
    starts: list[int]
    """Index of the first id of each document."""


@final
class Corpus(Data):
    """Training and validation documents as tokens.

    A document is preceded by the tokenizer's BOS if it has one. A training window starts anywhere
    and may cross documents.
    """

    def __init__(self, *, train: Tokens, validation: Tokens, tokenizer: Tokenizer) -> None:
        self._train = train
        self._validation = validation
        self._tokenizer = tokenizer

    @classmethod
    def build(
        cls,
        *,
        train: Sequence[Document],
        validation: Sequence[Document],
        tokenizer: TokenizerConfig,
        context: int,
    ) -> "Corpus":
        """Fit the tokenizer on the training documents, then encode all of them.

        Raises:
            Refusal: a text cannot be encoded, or is shorter than one window of `context` tokens
                and its last target.
        """
        fitted = tokenizer.fit(document.text for document in train)
        return cls(
            train=_tokens(train, tokenizer=fitted, context=context, part="training"),
            validation=_tokens(validation, tokenizer=fitted, context=context, part="validation"),
            tokenizer=fitted,
        )

    @property
    @override
    def vocab(self) -> int:
        return self._tokenizer.size

    @property
    @override
    def fingerprint(self) -> str:
        """SHA-256 of the tokenizer's labels, the tokens, and where documents start."""
        labels = [self._tokenizer.label(token) for token in range(self._tokenizer.size)]
        parts = (self._train, self._validation)
        header = {"labels": labels, "starts": [part.starts for part in parts]}
        digest = hashlib.sha256(json.dumps(header).encode())
        for part in parts:
            digest.update(part.ids.astype("<u4").tobytes())
        return digest.hexdigest()

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
        return Batch.from_windows(windows[offsets].astype(np.int64))

    @override
    def training_sample(self) -> Int64[np.ndarray, " n"]:
        return self._train.ids.astype(np.int64)

    @override
    def validation(self) -> Int64[np.ndarray, " n"]:
        return self._validation.ids.astype(np.int64)


def _tokens(
    documents: Sequence[Document], *, tokenizer: Tokenizer, context: int, part: str
) -> Tokens:
    smallest = np.uint16 if tokenizer.size <= 2**16 else np.uint32
    opening = [] if tokenizer.bos is None else [tokenizer.bos]
    pieces = [np.array([], dtype=smallest)]
    for document in documents:
        try:
            ids = tokenizer.encode(document.text)
        except ValueError as error:
            raise Refusal(f"{part} text {document.name}: {error}") from error
        pieces.append(np.concatenate([opening, ids]).astype(smallest))
    joined = np.concatenate(pieces)
    if len(joined) < context + 1:
        raise Refusal(
            f"the {part} text has {len(joined)} tokens, fewer than the {context + 1} of one window "
            f"of model.context={context} and its last target; give more text, or lower "
            "model.context"
        )
    ends = np.cumsum([len(piece) for piece in pieces])
    return Tokens(ids=joined, starts=[int(end) for end in ends[:-1]])
