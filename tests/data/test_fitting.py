"""Tokenizers fitted to a text."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document, Text
from andrea_exp.data.fitting import fit
from andrea_exp.tokenizer.bpe import BpeConfig
from andrea_exp.tokenizer.bytes import BytesConfig

PROSE = "the cat sat on the mat; the dog sat on the log. " * 5
bpe = BpeConfig(name="bpe", size=270, sample_characters=1000)


class ReadOnce(Text):
    """A text that notices how often it is read."""

    def __init__(self) -> None:
        self.readings = 0

    @override
    def pieces(self) -> Iterator[str]:
        self.readings += 1
        yield from (PROSE[:20], PROSE[20:])

    @override
    def where(self, index: int) -> str:
        return "the text"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "tokenizers"


def test_a_tokenizer_that_learns_does_so_once_per_text():
    text = ReadOnce()
    first = fit(bpe, [text], digest=lambda: "a")
    again = fit(bpe, [text], digest=lambda: "a")
    assert text.readings == 1
    assert first.state() == again.state() == bpe.fit([PROSE]).state()
    fit(bpe, [text], digest=lambda: "another text")
    fit(BpeConfig(name="bpe", size=269, sample_characters=1000), [text], digest=lambda: "a")
    assert text.readings == 3


def test_a_tokenizer_that_learns_nothing_is_not_kept(folder: Path):
    found = fit(BytesConfig(name="bytes"), [ReadOnce()], digest=lambda: pytest.fail("no digest"))
    assert found.size == 257
    assert not folder.exists()


def test_what_a_tokenizer_cannot_do_is_refused_by_its_name():
    large = BpeConfig(name="bpe", size=5000, sample_characters=1000)
    with pytest.raises(Refusal, match=r"tokenizer=bpe: .* gives only \d+ of size=5000 ids"):
        fit(large, [ReadOnce()], digest=lambda: "a")


def test_a_corpus_in_memory_keeps_its_tokenizer_too(folder: Path):
    def corpus(text: str) -> Corpus:
        train = [Document("train", text)]
        return Corpus.build(train=train, validation=train, tokenizer=bpe, context=5)

    assert corpus(PROSE).fingerprint == corpus(PROSE).fingerprint
    assert len([entry for entry in folder.iterdir() if not entry.name.startswith(".")]) == 1
    corpus(PROSE + "and another one.")
    assert len([entry for entry in folder.iterdir() if not entry.name.startswith(".")]) == 2
