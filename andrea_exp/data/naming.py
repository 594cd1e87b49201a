"""Tokens by the text that people call them by, and back."""

from andrea_exp.data.base import Data
from andrea_exp.tokenizer.base import NoIdError, Tokenizer


def label_of(data: Data, token: int) -> str:
    """One id as a person reads it: its word, the tokenizer's label, or its number."""
    words = data.words()
    if words is not None:
        return words[token]
    return str(token) if data.tokenizer is None else data.tokenizer.label(token)


def token_of(data: Data, text: str) -> int:
    """The id of a text that is one token, or of a label as `label_of` writes it.

    Raises:
        ValueError: it is neither; the message says what it is instead.
    """
    words = data.words()
    if words is not None:
        if text not in words:
            raise ValueError(f"{text!r} is not a word of the data; choose of {' '.join(words)}")
        return words.index(text)
    if data.tokenizer is None:
        return _number(text, vocab=data.vocab)
    return _encoded(text, tokenizer=data.tokenizer)


def _number(text: str, *, vocab: int) -> int:
    if not (text.isdecimal() and int(text) < vocab):
        raise ValueError(
            f"{text!r} is not an id of the data; choose a number from 0 to {vocab - 1}"
        )
    return int(text)


def _encoded(text: str, *, tokenizer: Tokenizer) -> int:
    try:
        ids = tokenizer.encode(text).tolist()
        reason = "is no text"
    except NoIdError as error:
        ids, reason = [], f"is not one token: {error}"
    if len(ids) == 1:
        return ids[0]
    labels = [tokenizer.label(token) for token in range(tokenizer.size)]
    if text in labels:
        return labels.index(text)
    if ids:
        spelt = " ".join(labels[token] for token in ids)
        reason = f"is {len(ids)} tokens of the tokenizer: {spelt}"
    raise ValueError(f"{text!r} {reason}; choose a text that is one token")
