"""A user's own text: files, folders and patterns, tokenized once into the cache."""

from dataclasses import dataclass, field
from typing import final

from typing_extensions import override

from andrea_exp.component import Range, Refusal, at_least, files
from andrea_exp.data.base import DataConfig
from andrea_exp.data.cache import key_of
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.files import File, find, hashed, identity
from andrea_exp.data.text_file import TextFile
from andrea_exp.data.tokenized import Part, Tokenized
from andrea_exp.tokenizer.base import TokenizerConfig


@final
@dataclass(kw_only=True, frozen=True)
class TextConfig(DataConfig):
    """UTF-8 text, in the order of the files' paths.

    A file is a document, and so is the part of one that is validation text. Empty ones are passed
    over. A text with a NUL is refused as binary.
    """

    path: list[str] = field(metadata=files())
    """Files, folders (all files below them but hidden ones) and quoted patterns; `~` is known."""
    validation_path: list[str] = field(metadata=files())
    """The same for validation text; if empty, the end of every file of `path` is."""
    validation_share: float = field(
        metadata={"range": Range(low=0, high=1, open_low=True, open_high=True)}
    )
    """Share of the bytes of each file, its last, that are validation where no path says so."""
    sample_tokens: int = field(metadata=at_least(1))
    """Most training tokens that the unigram and bigram lines are fitted on; of more there are, by
    evenly spread stretches."""

    @classmethod
    @override
    def has_own_ids(cls) -> bool:
        return False

    @override
    def known_size(self) -> None:
        return None

    @override
    def load(self, *, tokenizer: TokenizerConfig | None, context: int) -> Corpus:
        if tokenizer is None:
            raise Refusal("data=text needs a tokenizer; choose one with tokenizer=")
        if not self.path:
            raise Refusal(
                "data=text reads your own files: name them with data.path=FILE, data.path=FOLDER "
                "or data.path='[FIRST,SECOND]'"
            )
        train = find(self.path, key="data.path")
        validation = find(self.validation_path, key="data.validation_path")
        _check_apart(train, validation)
        texts, judges = hashed(train), hashed(validation)
        _check_filled(texts, key="data.path")
        _check_filled(judges, key="data.validation_path")
        return self._tokenized(texts, judges).corpus(
            tokenizer=tokenizer, context=context, sample_tokens=self.sample_tokens
        )

    def _tokenized(self, train: list[File], validation: list[File]) -> Tokenized:
        if validation:
            parts = [each.whole() for each in train], [each.whole() for each in validation]
        else:
            split = [each.split(self.validation_share) for each in train]
            parts = [begin for begin, _ in split], [end for _, end in split]
        digests = {each.path: each.digest for each in train + validation}

        def check() -> None:
            for each in train + validation:
                each.check_unchanged()

        first, second = (_part(texts, digests) for texts in parts)
        return Tokenized(train=first, validation=second, check=check)


def _check_apart(train: list[str], validation: list[str]) -> None:
    trained = set(map(identity, train)) if validation else set[tuple[int, int]]()
    both = [path for path in validation if identity(path) in trained]
    if both:
        raise Refusal(
            f"{both[0]} is named by data.path and by data.validation_path; what a model is "
            "trained on cannot judge it: leave the file out of one of them"
        )


def _check_filled(found: list[File], *, key: str) -> None:
    if found and not any(each.size for each in found):
        others = f", and so is every other of the {len(found)}" if len(found) > 1 else ""
        raise Refusal(f"{key}: {found[0].path} is empty{others}; name files with text in them")


def _part(texts: list[TextFile], digests: dict[str, str]) -> Part:
    filled = [text for text in texts if text.stop > text.start]
    return Part(
        documents=filled,
        digest=key_of(*(f"{digests[text.path]} {text.start} {text.stop}" for text in filled)),
        num_bytes=sum(text.stop - text.start for text in filled),
    )
