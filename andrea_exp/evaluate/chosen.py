"""Which tokens' rows are compared: those that the data name, and those that the user does."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Integer

from andrea_exp.component import Refusal
from andrea_exp.data.base import Contrast, Data
from andrea_exp.data.naming import token_of
from andrea_exp.evaluate.config import EvaluationConfig

_CHUNK = 2**20


class Chosen(NamedTuple):
    """What is looked at in a table of token rows."""

    pairs: tuple[tuple[int, int], ...]
    contrast: Contrast | None
    """Classes of words, where the data know them."""

    @property
    def shown(self) -> list[int]:
        """The tokens of the pairs, each once, in their order."""
        return list(dict.fromkeys(token for pair in self.pairs for token in pair))

    @property
    def tokens(self) -> list[int]:
        """Every token whose row is needed, each once."""
        classes = (
            () if self.contrast is None else (self.contrast.ids, *self.contrast.others.values())
        )
        return list(dict.fromkeys([*self.shown, *(token for ids in classes for token in ids)]))


def chosen(data: Data, *, config: EvaluationConfig) -> Chosen:
    """The data's own pairs, or else those of their most frequent tokens; then the user's.

    Raises:
        Refusal: a text of the user's is not one token.
    """
    contrast = data.contrast()
    if contrast is None:
        own = frequent_pairs(data.validation(), vocab=data.vocab, count=config.frequent_tokens)
    else:
        own = contrast.pairs
    return Chosen(tuple(dict.fromkeys([*own, *named_pairs(data, config.pairs)])), contrast)


def named_pairs(data: Data, pairs: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """The ids of pairs of texts.

    Raises:
        Refusal: a text is not one token.
    """
    try:
        return [(token_of(data, first), token_of(data, second)) for first, second in pairs]
    except ValueError as error:
        raise Refusal(f"evaluation.pairs: {error}") from error


def frequent_pairs(
    tokens: Integer[np.ndarray, " N"], *, vocab: int, count: int
) -> tuple[tuple[int, int], ...]:
    """The pairs among the `count` most frequent tokens, the lower id first among equals.

    Tokens are counted in chunks, since they may be those of a large file.
    """
    times = np.zeros(vocab, dtype=np.int64)
    for start in range(0, len(tokens), _CHUNK):
        times += np.bincount(tokens[start : start + _CHUNK], minlength=vocab)
    most = np.argsort(-times, kind="stable")[:count]
    return tuple(combinations(most[times[most] > 0].tolist(), 2))
