"""Byte-pair encoding."""

import ast
import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import andrea_exp
from andrea_exp.tokenizer.bpe import Bpe, BpeConfig
from andrea_exp.tokenizer.words import words_of

ROOT = Path(andrea_exp.__file__).parents[1]
COUNTS = {"banana": 29, "bandana": 14, "anna": 26, "nïï": 30, "abba": 15, "ïan": 3, "baïna": 10}
SMALL = "".join(f"{word} " * count for word, count in COUNTS.items())
PROSE = "\n".join(
    f"The {animal}'s {thing} isn't {verb}ing; they'll say 'no_{number}', {number * 37}  times.\t"
    for number, (animal, thing, verb) in enumerate(
        (animal, thing, verb)
        for animal in ("cat", "dog", "façade", "中文字", "xylophone")
        for thing in ("house", "tree", "river", "naïveté")
        for verb in ("see", "walk", "play")
    )
)


def config(*, size: int, sample_characters: int = 10**6) -> BpeConfig:
    return BpeConfig(name="bpe", size=size, sample_characters=sample_characters)


tokenizer = config(size=450).fit([PROSE])
Word = tuple[bytes, ...]


def merged(word: Word, pair: tuple[bytes, bytes]) -> Word:
    """A word in which every neighbouring pair is one token, from the left."""
    found: list[bytes] = []
    rest = list(word)
    while rest:
        if tuple(rest[:2]) == pair:
            found.append(rest.pop(0) + rest.pop(0))
        else:
            found.append(rest.pop(0))
    return tuple(found)


def learned(text: str, *, merges: int) -> tuple[list[bytes], dict[str, Word]]:
    """Sennrich et al., algorithm 1, in plain Python: merged tokens, and each word in tokens.

    It refuses a tie, so the order does not hang on how one is broken.
    """
    counts = Counter(words_of(text))
    words = {word: tuple(bytes([byte]) for byte in word.encode()) for word in counts}
    found: list[bytes] = []
    for _ in range(merges):
        pairs = Counter[tuple[bytes, bytes]]()
        for word, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] += counts[word]
        (best, count), (_, next_count) = pairs.most_common(2)
        assert count > next_count
        found.append(best[0] + best[1])
        words = {word: merged(tokens, best) for word, tokens in words.items()}
    return found, words


def token_bytes(found: Bpe, ids: npt.NDArray[np.int64]) -> list[bytes]:
    """What each token stands for, read off its label."""
    return [
        bytes.fromhex(label[2:]) if label.startswith("0x") else ast.literal_eval(label).encode()
        for label in map(found.label, ids.tolist())
    ]


MERGES = 6


def test_merges_follow_the_published_algorithm():
    expected, words = learned(SMALL, merges=MERGES)
    found = config(size=257 + MERGES).fit([SMALL])
    assert token_bytes(found, np.arange(257, 257 + MERGES)) == expected
    for word, tokens in words.items():
        assert token_bytes(found, found.encode(word)) == list(tokens)


def test_ids_are_bytes_then_the_beginning_then_merges():
    assert (tokenizer.size, tokenizer.bos) == (450, 256)
    plain = config(size=257).fit([PROSE])
    assert (plain.size, plain.bos) == (257, 256)
    assert plain.encode("aé\0\n").tolist() == list("aé\0\n".encode())
    assert plain.encode("aé").dtype == np.int64


def test_common_words_become_single_tokens_and_none_is_the_beginning():
    ids = tokenizer.encode(PROSE)
    assert len(ids) < len(PROSE.encode()) / 2
    assert tokenizer.bos not in ids
    assert len(tokenizer.encode(" they")) == 1


texts = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from(
            [
                *(" ", "\n", "'", "r", "e", "s", "x" * 130, "7" * 200, "\t" * 150, "-" * 140),
                *("é", "中文", "_", "\0", "\r\n", " cat", "\N{GRINNING FACE}", "\x85", "\u2028"),
            ]
        )
    ).map("".join),
)


@given(texts)
def test_decoding_inverts_encoding(text: str):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(texts))
def test_decoding_inverts_encoding_of_the_text_it_has_learned_from(pieces: list[str]):
    found = config(size=257).fit(pieces)
    text = "".join(pieces)
    assert found.decode(found.encode(text)) == text


def cut(text: str, places: Sequence[int]) -> list[str]:
    bounds = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[start:stop] for start, stop in pairwise(bounds)]


Encode = Callable[[list[str]], npt.NDArray[np.int64]]


def carefully(pieces: list[str]) -> npt.NDArray[np.int64]:
    return np.concatenate(list(tokenizer.encode_pieces(pieces)))


def carelessly(pieces: list[str]) -> npt.NDArray[np.int64]:
    return np.concatenate([tokenizer.encode(piece) for piece in pieces])


def assert_pieces_do_not_matter(encode: Encode, text: str, places: Sequence[int]):
    assert encode(cut(text, places)).tolist() == tokenizer.encode(text).tolist()


@given(texts, st.lists(st.integers(0, 5000), max_size=9))
def test_ids_do_not_depend_on_how_the_text_is_cut(text: str, places: list[int]):
    assert_pieces_do_not_matter(carefully, text, places)


def test_ids_do_not_depend_on_cuts_at_every_place():
    for place in range(400):
        assert_pieces_do_not_matter(carefully, PROSE, [place])
    assert_pieces_do_not_matter(carefully, PROSE, range(len(PROSE)))


def test_pieces_encoded_each_for_itself_would_be_caught():
    with pytest.raises(AssertionError):
        assert_pieces_do_not_matter(carelessly, PROSE, [2])


def test_learning_is_the_same_in_every_process():
    code = (
        "import sys; from andrea_exp.tokenizer.bpe import BpeConfig; "
        "config = BpeConfig(name='bpe', size=450, sample_characters=10**6); "
        "print(config.fit([sys.stdin.read()]).state(), end='')"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "5"}
    answer = subprocess.run(
        [sys.executable, "-c", code],
        input=PROSE,
        env=environment | {"TOKENIZERS_PARALLELISM": "true", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert answer.stdout == tokenizer.state()


def test_learning_reads_evenly_spread_blocks_of_a_long_text():
    block = 65536
    text = "".join(word * (block // len(word)) for word in ("abcdefgh", "ijklmnop", "qrstuvwx"))
    found = config(size=257 + 7, sample_characters=2 * block).fit([text])
    assert len(found.encode("abcdefgh")) < 8
    assert len(found.encode("ijklmnop")) == 8  # the block in the middle was left out


def test_its_state_makes_it_again():
    again = config(size=450).restore(tokenizer.state())
    assert again.state() == tokenizer.state()
    assert again.encode(PROSE).tolist() == tokenizer.encode(PROSE).tolist()


def test_a_copy_for_another_process_encodes_alike():
    again = pickle.loads(pickle.dumps(tokenizer))  # noqa: S301
    assert again.encode(PROSE).tolist() == tokenizer.encode(PROSE).tolist()


def test_its_identity_tells_size_and_sample():
    assert config(size=450).identity() == config(size=450).identity()
    others = [config(size=451), config(size=450, sample_characters=5)]
    assert len({each.identity() for each in [config(size=450), *others]}) == 3
    assert config(size=451).known_size() == 451


def test_a_size_below_257_is_refused():
    with pytest.raises(ValueError, match="size must be at least 257, got 256"):
        config(size=256)


def test_a_text_with_too_few_words_for_the_size_is_refused_with_what_it_gives():
    with pytest.raises(ValueError, match=r"gives only 259 of size=300 ids; lower it to at most"):
        config(size=300).fit(["abc"])
    assert config(size=259).fit(["abc"]).size == 259


@pytest.mark.parametrize("text", ["ab\ud83dc", "\udcff"])
def test_half_a_surrogate_pair_is_refused_with_its_place(text: str):
    index = next(place for place, character in enumerate(text) if character >= "\ud800")
    with pytest.raises(ValueError, match=rf"at index {index} is half of a surrogate pair"):
        tokenizer.encode(text)
    with pytest.raises(ValueError, match=rf"at index {index + 1} is half of a surrogate pair"):
        list(tokenizer.encode_pieces(["x", text]))


@pytest.mark.parametrize("foreign", [-1, 450])
def test_an_id_outside_the_range_is_refused(foreign: int):
    with pytest.raises(ValueError, match=rf"id {foreign} is not one of the tokenizer's 0\.\.449"):
        tokenizer.decode(np.array([97, foreign]))


def test_the_beginning_of_a_document_decodes_to_nothing():
    assert tokenizer.decode(np.array([256, 97, 256, 98])) == "ab"


def test_labels_show_text_where_a_token_is_text():
    found = config(size=258).fit(["é é é"])
    assert [found.label(token) for token in (97, 10, 195, 256)] == ["'a'", r"'\n'", "0xC3", "<bos>"]
    assert found.label(257) == "'é'"


def test_the_threads_of_the_library_stay_as_the_user_set_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    tokenizer.encode("something new")
    assert "TOKENIZERS_PARALLELISM" not in os.environ
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    tokenizer.encode("something else")
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"
