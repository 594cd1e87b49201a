"""Documents as token arrays and windows."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.component import Refusal
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document
from andrea_exp.data.tokens import StoredTokens
from andrea_exp.tokenizer.base import TokenizerConfig
from andrea_exp.tokenizer.bytes import Bytes, BytesConfig
from andrea_exp.tokenizer.chars import CharsConfig

BOS = 256
bytes_config = BytesConfig(name="bytes")


def documents(*texts: str) -> list[Document]:
    return [Document(name=f"file {i}", text=text) for i, text in enumerate(texts)]


def corpus(
    *train: str,
    validation: Sequence[str] = ("vwxyz",),
    tokenizer: TokenizerConfig = bytes_config,
    context: int = 3,
) -> Corpus:
    return Corpus.build(
        train=documents(*train),
        validation=documents(*validation),
        tokenizer=tokenizer,
        context=context,
    )


def windows(data: Corpus, *, count: int, context: int) -> npt.NDArray[np.int64]:
    batch = data.draw(np.random.default_rng(2), count=count, context=context)
    return np.concatenate([batch.inputs, batch.targets[:, -1:]], axis=1)


def test_documents_follow_one_another_each_after_its_beginning():
    data = corpus("ab", "", "cd", validation=("xy", "z"))
    assert data.training_sample().tolist() == [BOS, 97, 98, BOS, BOS, 99, 100]
    assert data.validation().tolist() == [BOS, 120, 121, BOS, 122]
    assert data.train_tokens == 7


def test_without_a_beginning_documents_are_joined_unmarked():
    chars = CharsConfig(name="chars", bos=False)
    data = corpus("ba", "cb", validation=("aabb",), tokenizer=chars)
    assert data.training_sample().tolist() == [1, 0, 2, 1]
    assert data.validation().tolist() == [0, 0, 1, 1]
    assert (data.vocab, data.train_tokens) == (3, 4)


def test_a_document_reads_the_same_when_decoded():
    data = corpus("naïve\r\n", "tests")
    assert data.tokenizer.decode(data.training_sample()) == "naïve\r\ntests"


def assert_windows_start_anywhere(data: Corpus, *, last: int):
    """Of a corpus whose tokens, after a first BOS, are the letters from a on."""
    drawn = windows(data, count=200, context=3)
    starts = sorted({0 if window[0] == BOS else int(window[0]) - 96 for window in drawn})
    assert starts == list(range(last + 1))
    for first, *rest in drawn:
        assert rest == [(0 if first == BOS else first - 96) + 97 + i for i in range(3)]


def test_windows_start_anywhere_from_the_first_to_the_last_full_one():
    assert_windows_start_anywhere(corpus("abcdefg"), last=4)  # 8 tokens, windows of 4


def test_a_corpus_that_never_shows_its_last_token_would_be_caught():
    with pytest.raises(AssertionError):
        assert_windows_start_anywhere(corpus("abcdef"), last=4)


def test_a_corpus_of_one_window_gives_that_window_alone():
    drawn = windows(corpus("abc"), count=5, context=3)
    assert drawn.tolist() == [[BOS, 97, 98, 99]] * 5


def letters(lengths: list[int]) -> list[str]:
    """Documents of these lengths in which no letter comes twice, so that each tells its place."""
    alphabet = iter(range(0x4E00, 0x9FFF))
    return ["".join(chr(next(alphabet)) for _ in range(length)) for length in lengths]


def assert_beginnings_stand_where_files_start(data: Corpus, *, lengths: list[int]):
    starts = np.cumsum([0] + [1 + length for length in lengths])[:-1]
    places = [place for place in range(sum(lengths) + len(lengths)) if place not in starts]
    for window in windows(data, count=20, context=6):
        known = int(np.flatnonzero(window != data.tokenizer.bos)[0])
        first = places[window[known]] - known
        marked = [first + i for i in np.flatnonzero(window == data.tokenizer.bos)]
        assert marked == [start for start in starts if first <= start < first + len(window)]


@given(st.lists(st.integers(1, 9), min_size=3, max_size=8))
def test_a_window_has_beginnings_exactly_where_files_start(lengths: list[int]):
    chars = CharsConfig(name="chars", bos=True)
    texts = letters([*lengths, 2])
    data = corpus(*texts, validation=(texts[0] * 7,), tokenizer=chars, context=6)
    assert_beginnings_stand_where_files_start(data, lengths=[*lengths, 2])


def test_a_mark_at_the_end_of_files_would_be_caught():
    lengths = [3, 5, 2, 4]
    tokenizer = CharsConfig(name="chars", bos=True).fit(letters(lengths))
    ends = [
        np.array([*tokenizer.encode(text), tokenizer.bos], dtype=np.uint16)
        for text in letters(lengths)
    ]
    tokens = StoredTokens(np.concatenate(ends), digest="0, 4, 10, 13")
    data = Corpus(train=tokens, validation=tokens, tokenizer=tokenizer)
    with pytest.raises(AssertionError):
        assert_beginnings_stand_where_files_start(data, lengths=lengths)


def test_a_batch_is_a_function_of_the_generator():
    data = corpus("the quick brown fox jumps over the lazy dog")
    first, again, other = (
        data.draw(np.random.default_rng(seed), count=5, context=7) for seed in (11, 11, 12)
    )
    assert first.inputs.equal(again.inputs)
    assert first.targets.equal(again.targets)
    assert not first.inputs.equal(other.inputs)


def test_ids_above_16_bits_survive_storage():
    text = "".join(map(chr, range(0x10000, 0x10000 + 70_001)))
    chars = CharsConfig(name="chars", bos=True)
    data = corpus(text, validation=(text[-4:],), tokenizer=chars)
    assert data.training_sample()[-1] == 70_000
    assert data.validation().tolist() == [70_001, 69_997, 69_998, 69_999, 70_000]


def test_the_same_text_has_the_same_fingerprint():
    assert corpus("abc", "de").fingerprint == corpus("abc", "de").fingerprint


@pytest.mark.parametrize(
    "other",
    [
        corpus("abd", "de"),  # one character
        corpus("de", "abc"),  # the order
        corpus("abc", "de", validation=("vwxy",)),  # the validation text
        corpus("abc", validation=("de", "vwxyz")),  # the split
        corpus("abc", "de", tokenizer=CharsConfig(name="chars", bos=True), validation=("dead",)),
    ],
)
def test_another_corpus_has_another_fingerprint(other: Corpus):
    assert other.fingerprint != corpus("abc", "de").fingerprint


def test_the_fingerprint_knows_the_alphabet_and_where_files_start():
    chars = CharsConfig(name="chars", bos=False)
    split = corpus("aba", "b", validation=("abab",), tokenizer=chars)
    elsewhere = corpus("ab", "ab", validation=("abab",), tokenizer=chars)
    renamed = corpus("cdc", "d", validation=("cdcd",), tokenizer=chars)
    assert split.training_sample().tolist() == elsewhere.training_sample().tolist()
    assert split.training_sample().tolist() == renamed.training_sample().tolist()
    assert len({each.fingerprint for each in (split, elsewhere, renamed)}) == 3


@pytest.mark.parametrize(
    ("train", "validation", "message"),
    [
        (["a", "b"], ["vwxyz"], "the training text has 4 tokens, fewer than the 6 of one window"),
        (["abcdef"], ["vwx"], "the validation text has 4 tokens, fewer than the 6 of one window"),
        ([], ["vwxyz"], "the training text has 0 tokens"),
        (["abcdef"], [], "the validation text has 0 tokens"),
    ],
)
def test_text_shorter_than_a_window_is_refused_with_both_numbers(
    train: list[str], validation: list[str], message: str
):
    with pytest.raises(Refusal, match=message):
        corpus(*train, validation=validation, context=5)


def test_no_characters_at_all_are_refused_as_too_short():
    with pytest.raises(Refusal, match="the training text has 0 tokens, fewer than the 4"):
        corpus(tokenizer=CharsConfig(name="chars", bos=False))


def test_an_unknown_character_is_refused_with_its_file_and_place():
    chars = CharsConfig(name="chars", bos=True)
    with pytest.raises(Refusal, match=r"validation text file 1: character 'x' .* at index 2"):
        corpus("abcde", validation=("abc", "edxc"), tokenizer=chars)


def test_a_corpus_knows_its_tokenizer_and_no_floor():
    data = corpus("abc")
    assert isinstance(data.tokenizer, Bytes)
    assert (data.vocab, data.floor_nats) == (257, None)
