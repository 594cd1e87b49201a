"""Tokenizers fitted to the training text; those that take long to learn are kept in the cache."""

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from andrea_exp.atomic import write_durably
from andrea_exp.component import Refusal
from andrea_exp.data.cache import kept, key_of
from andrea_exp.data.document import Text
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig

_FILE = "tokenizer.json"


def fit(
    config: TokenizerConfig, documents: Iterable[Text], *, digest: Callable[[], str]
) -> Tokenizer:
    """The tokenizer of this training text, out of the cache if it is there.

    Args:
        config: which tokenizer.
        documents: the training text.
        digest: hash of the training text, asked for if the cache is.

    Raises:
        Refusal: a text cannot be read, or there is no such tokenizer for this text.
    """
    if not config.is_learned():
        return _fit(config, documents)

    def make(draft: Path) -> None:
        write_durably(draft / _FILE, _fit(config, documents).state())

    entry = kept("tokenizers", key_of(config.identity(), digest()), make)
    return config.restore((entry / _FILE).read_text(encoding="utf-8"))


def _fit(config: TokenizerConfig, documents: Iterable[Text]) -> Tokenizer:
    try:
        return config.fit(chain.from_iterable(document.pieces() for document in documents))
    except ValueError as error:
        raise Refusal(f"tokenizer={config.name}: {error}") from error
