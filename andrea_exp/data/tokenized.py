"""Text of any size as a corpus whose tokens lie in the cache."""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from typing_extensions import override

from andrea_exp.atomic import write_durably
from andrea_exp.component import Refusal
from andrea_exp.data.cache import kept, key_of
from andrea_exp.data.corpus import Corpus, check_length
from andrea_exp.data.document import Text
from andrea_exp.data.fitting import fit
from andrea_exp.data.progress import Progress
from andrea_exp.data.tokens import Digest, MappedTokens, encoded, smallest_type
from andrea_exp.tokenizer.base import Tokenizer, TokenizerConfig

# To be raised when the same text and tokenizer shall give other files than before.
_FORMAT = "1"
_INDEX, _TOKENIZER = "tokens.json", "tokenizer.json"


@final
@dataclass(kw_only=True, frozen=True)
class Part:
    """The training or the validation text."""

    documents: Iterable[Text]
    """Can be walked more than once."""
    digest: str
    """Hash of the texts, in order."""
    num_bytes: int
    """UTF-8 bytes of all of them, for the progress."""


@final
@dataclass(kw_only=True, frozen=True)
class Tokenized:
    """Text to be tokenized, at most once on each machine."""

    train: Part
    validation: Part
    check: Callable[[], None]
    """Refuses if the texts are no longer those that the digests were made of."""

    def corpus(self, *, tokenizer: TokenizerConfig, context: int, sample_tokens: int) -> Corpus:
        """The tokens out of the cache, made first if they are not there.

        Args:
            tokenizer: fitted to the training text.
            context: T, the length of a training window.
            sample_tokens: most tokens of `Corpus.training_sample`.

        Raises:
            Refusal: a text cannot be read or encoded, is too short, or the cache cannot be written.
        """
        for name, part in self._parts().items():
            if part.num_bytes == 0:
                check_length(0, context=context, part=name)
        key = key_of(_FORMAT, tokenizer.identity(), self.train.digest, self.validation.digest)
        entry = kept("tokens", key, lambda draft: self._make(draft, tokenizer=tokenizer))
        index: Any = json.loads((entry / _INDEX).read_text(encoding="utf-8"))
        for part in self._parts():
            check_length(index[part]["count"], context=context, part=part)
        return Corpus(
            train=_mapped(entry, "training", index),
            validation=_mapped(entry, "validation", index),
            tokenizer=tokenizer.restore((entry / _TOKENIZER).read_text(encoding="utf-8")),
            sample_tokens=sample_tokens,
        )

    def _parts(self) -> dict[str, Part]:
        return {"training": self.train, "validation": self.validation}

    def _make(self, draft: Path, *, tokenizer: TokenizerConfig) -> None:
        learning = _Watched(self.train, "learning the tokenizer")
        known = fit(tokenizer, learning, digest=lambda: self.train.digest)
        index: dict[str, object] = {"type": smallest_type(known.size)}
        for name, part in self._parts().items():
            texts = _Watched(part, f"tokenizing {name} text")
            index[name] = _write(draft / f"{name}.bin", texts, tokenizer=known, part=name)
        self.check()
        write_durably(draft / _TOKENIZER, known.state())
        write_durably(draft / _INDEX, json.dumps(index))


@final
class _Watched(Iterable[Text]):
    """The texts of a part; while they are read, the terminal shows how far that is."""

    def __init__(self, part: Part, what: str) -> None:
        self._part = part
        self._what = what

    @override
    def __iter__(self) -> Iterator[Text]:
        with Progress(self._what, total=self._part.num_bytes) as progress:
            for text in self._part.documents:
                yield _WatchedText(text, progress)


@final
class _WatchedText(Text):
    def __init__(self, text: Text, progress: Progress) -> None:
        self._text = text
        self._progress = progress

    @override
    def pieces(self) -> Iterator[str]:
        for piece in self._text.pieces():
            self._progress.advance(len(piece) if piece.isascii() else len(piece.encode()))
            yield piece

    @override
    def where(self, index: int) -> str:
        return self._text.where(index)


def _write(
    path: Path, texts: Iterable[Text], *, tokenizer: Tokenizer, part: str
) -> dict[str, object]:
    """Write the ids of a part; their number and hash."""
    dtype, digest, count = smallest_type(tokenizer.size), Digest(), 0
    with path.open("wb") as file:
        for piece in encoded(texts, tokenizer=tokenizer, part=part):
            digest.update(piece)
            count += len(piece.ids)
            file.write(piece.ids.astype(dtype).tobytes())
        file.flush()
        os.fsync(file.fileno())
    return {"count": count, "digest": digest.hexdigest()}


def _mapped(entry: Path, part: str, index: Any) -> MappedTokens:
    path, about = entry / f"{part}.bin", index[part]
    tokens = MappedTokens(path, dtype=index["type"], digest=about["digest"])
    if len(tokens.ids) != about["count"]:
        raise Refusal(
            f"{path} has {len(tokens.ids)} tokens where {about['count']} were written; "
            f"remove {entry}, so that it is made anew"
        )
    return tokens
