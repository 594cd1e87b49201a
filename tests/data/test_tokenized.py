"""Corpora whose tokens lie in the cache."""

import os
import pickle
import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from typing_extensions import override

import andrea_exp
from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document, Text
from andrea_exp.data.tokenized import Part, Tokenized
from andrea_exp.tokenizer.base import TokenizerConfig
from andrea_exp.tokenizer.bpe import BpeConfig
from andrea_exp.tokenizer.bytes import BytesConfig
from andrea_exp.tokenizer.chars import CharsConfig

ROOT = Path(andrea_exp.__file__).parents[1]
TRAIN = ["the cat sat on the mat\r\n" * 9, "naïve dogs dig; dogs dig holes. " * 7, "end"]
VALIDATION = ["the dog sat on the hat. " * 4, "an end"]
TOKENIZERS = [
    BytesConfig(name="bytes"),
    CharsConfig(name="chars", bos=True),
    CharsConfig(name="chars", bos=False),
    BpeConfig(name="bpe", size=262, sample_characters=1000),
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache" / "tokens"


class Pieces(Text):
    """A text in pieces of seven characters."""

    def __init__(self, text: str) -> None:
        self.text = text

    @override
    def pieces(self) -> Iterator[str]:
        for start in range(0, len(self.text), 7):
            yield self.text[start : start + 7]

    @override
    def where(self, index: int) -> str:
        return f"place {index}"


def part(texts: list[str]) -> Part:
    return Part(
        documents=[Pieces(text) for text in texts],
        digest=str(texts),
        num_bytes=sum(len(text.encode()) for text in texts),
    )


def accept() -> None:
    """The text has not changed."""


def cached(
    tokenizer: TokenizerConfig,
    *,
    train: list[str] = TRAIN,
    validation: list[str] = VALIDATION,
    check: Callable[[], None] = accept,
    context: int = 6,
    sample_tokens: int = 10**6,
) -> Corpus:
    tokenized = Tokenized(train=part(train), validation=part(validation), check=check)
    return tokenized.corpus(tokenizer=tokenizer, context=context, sample_tokens=sample_tokens)


def in_memory(tokenizer: TokenizerConfig) -> Corpus:
    return Corpus.build(
        train=[Document("train", text) for text in TRAIN],
        validation=[Document("validation", text) for text in VALIDATION],
        tokenizer=tokenizer,
        context=6,
    )


def assert_same_data(found: Corpus, expected: Corpus):
    assert found.fingerprint == expected.fingerprint
    assert (found.vocab, found.train_tokens) == (expected.vocab, expected.train_tokens)
    assert found.validation().tolist() == expected.validation().tolist()
    assert found.training_sample().tolist() == expected.training_sample().tolist()
    drawn = [data.draw(np.random.default_rng(3), count=20, context=6) for data in (found, expected)]
    assert all(one.equal(other) for one, other in zip(*drawn, strict=True))


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_tokens_of_the_cache_are_those_of_memory(tokenizer: TokenizerConfig):
    expected = in_memory(tokenizer)
    assert_same_data(cached(tokenizer), expected)  # made
    assert_same_data(cached(tokenizer), expected)  # read
    assert_same_data(pickle.loads(pickle.dumps(cached(tokenizer))), expected)  # noqa: S301


def test_another_order_of_documents_would_be_caught():
    other = cached(TOKENIZERS[0], train=[TRAIN[1], TRAIN[0], TRAIN[2]])
    with pytest.raises(AssertionError):
        assert_same_data(other, in_memory(TOKENIZERS[0]))


def entries(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if not path.name.startswith(".")]


def test_an_entry_is_known_by_training_text_validation_text_and_tokenizer(folder: Path):
    for tokenizer in TOKENIZERS:
        cached(tokenizer)
        cached(tokenizer)
    assert len(entries(folder)) == 4
    cached(TOKENIZERS[0], train=[*TRAIN, "more"])
    cached(TOKENIZERS[0], validation=[*VALIDATION, "more"])
    assert len(entries(folder)) == 6


def test_a_text_that_changed_meanwhile_is_not_kept(folder: Path):
    def check() -> None:
        raise Refusal("the text changed")

    with pytest.raises(Refusal, match="the text changed"):
        cached(TOKENIZERS[0], check=check)
    assert entries(folder) == []


def test_a_character_without_an_id_is_refused_with_its_place(folder: Path):
    with pytest.raises(Refusal, match=r"validation text place 9: character 'x' .* at index 9"):
        cached(CharsConfig(name="chars", bos=True), validation=["the dog sxt"])
    assert entries(folder) == []


@pytest.mark.parametrize(
    ("train", "validation", "message"),
    [
        ([], VALIDATION, "the training text has 0 tokens, fewer than the 7"),
        (TRAIN, [], "the validation text has 0 tokens, fewer than the 7"),
        (["abcde"], VALIDATION, "the training text has 6 tokens, fewer than the 7"),
        (TRAIN, ["ab", "c"], "the validation text has 5 tokens, fewer than the 7"),
    ],
)
def test_text_shorter_than_a_window_is_refused(
    train: list[str], validation: list[str], message: str
):
    with pytest.raises(Refusal, match=message):
        cached(TOKENIZERS[0], train=train, validation=validation)


def test_a_damaged_entry_is_refused_with_what_to_do(folder: Path):
    cached(TOKENIZERS[0])
    (entry,) = entries(folder)
    path = folder / entry / "training.bin"
    os.truncate(path, path.stat().st_size - 2)
    with pytest.raises(Refusal, match=rf"training.bin has \d+ tokens where .* remove .*{entry}"):
        cached(TOKENIZERS[0])


def test_a_long_training_text_is_sampled_in_evenly_spread_stretches():
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 200)))
    chars = CharsConfig(name="chars", bos=False)
    data = cached(chars, train=[text], validation=[text], sample_tokens=30)
    assert data.training_sample().tolist() == list(range(30))
    whole = cached(chars, train=[text], validation=[text], sample_tokens=200)
    assert whole.training_sample().tolist() == list(range(200))


KILLED = """
from andrea_exp.data.document import Document
from andrea_exp.data.tokenized import Part, Tokenized
from andrea_exp.tokenizer.bytes import BytesConfig
import sys, time

def documents():
    yield Document("first", "abc" * 100_000)
    print("in the middle", flush=True)
    time.sleep(600)

class Slow:
    def __iter__(self):
        return documents()

part = Part(documents=Slow(), digest="d", num_bytes=300_001)
tokenized = Tokenized(train=part, validation=part, check=lambda: None)
tokenized.corpus(tokenizer=BytesConfig(name="bytes"), context=6, sample_tokens=9)
"""


def test_killed_in_the_middle_the_next_run_finds_no_half_made_tokens(folder: Path):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"in the middle\n"
        (half,) = folder.glob(".*.partial/training.bin")
        process.send_signal(signal.SIGKILL)
    assert entries(folder) == []
    text = "abc" * 100_000
    whole = Part(documents=[Document("first", text)], digest="d", num_bytes=300_001)
    data = Tokenized(train=whole, validation=whole, check=accept).corpus(
        tokenizer=BytesConfig(name="bytes"), context=6, sample_tokens=9
    )
    assert not half.exists()
    assert data.train_tokens == 300_001
    assert len(entries(folder)) == 1


class Long(Text):
    """A text of so many pieces of 46,000 characters, or all of them at once."""

    def __init__(self, number: int, *, at_once: bool) -> None:
        self.number = number
        self.at_once = at_once

    @override
    def pieces(self) -> Iterator[str]:
        piece = "the cat sat on the mat " * 2000
        yield from [piece * self.number] if self.at_once else (piece for _ in range(self.number))

    @override
    def where(self, index: int) -> str:
        return "somewhere"


def peak_bytes(tokenizer: TokenizerConfig, *, number: int, at_once: bool) -> int:
    text = Part(documents=[Long(number, at_once=at_once)], digest=str(number), num_bytes=1)
    tokenized = Tokenized(train=text, validation=text, check=accept)
    tracemalloc.start()
    try:
        tokenized.corpus(tokenizer=tokenizer, context=6, sample_tokens=100)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def assert_memory_does_not_grow(tokenizer: TokenizerConfig, *, at_once: bool):
    peak_bytes(tokenizer, number=2, at_once=at_once)
    small, large = (peak_bytes(tokenizer, number=n, at_once=at_once) for n in (8, 24))
    assert large < 1.2 * small


@pytest.mark.parametrize("tokenizer", [TOKENIZERS[0], TOKENIZERS[1], TOKENIZERS[3]])
def test_memory_does_not_grow_with_the_text(tokenizer: TokenizerConfig):
    assert_memory_does_not_grow(tokenizer, at_once=False)


def test_a_text_read_at_once_would_be_caught():
    with pytest.raises(AssertionError):
        assert_memory_does_not_grow(TOKENIZERS[0], at_once=True)
