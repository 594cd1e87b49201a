"""Texts cut into words, and samples of long texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.tokenizer.words import LONGEST, spread, take_unsettled, words_of

BLOCK = 65536


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the cat's hat", ["the", " cat", "'s", " hat"]),
        ("we'll go, they've gone", ["we", "'ll", " go", ",", " they", "'ve", " gone"]),
        ("if  x == 12:\n    y_1", ["if", " ", " x", " ==", " 12", ":", "\n   ", " y_", "1"]),
        ("naïve 中文。\r\n", ["naïve", " 中文", "。", "\r\n"]),
        ("a\t\t", ["a", "\t\t"]),
        ("", []),
    ],
)
def test_a_text_is_cut_as_gpt2_does_but_for_the_underscore(text: str, words: list[str]):
    assert words_of(text) == words


@pytest.mark.parametrize("character", ["a", "7", "-", " ", "é"])
def test_no_word_is_longer_than_the_limit_and_its_space(character: str):
    words = words_of("x " + character * 1000)
    assert max(map(len, words)) <= LONGEST + 1
    assert "".join(words) == "x " + character * 1000


@given(st.text())
def test_every_character_belongs_to_one_word(text: str):
    assert "".join(words_of(text)) == text


def test_what_more_text_could_change_is_taken_back():
    words = words_of("alpha " * 50 + "it'r")
    rest = take_unsettled(words)
    assert rest.endswith(" it'r")
    assert LONGEST + 2 <= len(rest) < 2 * LONGEST
    assert "".join(words) + rest == "alpha " * 50 + "it'r"
    assert words_of(rest + "e") == words_of("alpha " * 50 + "it're")[len(words) :]


def blocks(count: int) -> list[str]:
    """Texts of one block each, whose first character tells their number."""
    return [chr(0x4E00 + number) + "x" * (BLOCK - 1) for number in range(count)]


def numbers(sample: list[str]) -> list[int]:
    return [ord(block[0]) - 0x4E00 for block in sample]


@pytest.mark.parametrize(
    ("count", "room", "kept"),
    [
        (7, 7, [0, 1, 2, 3, 4, 5, 6]),
        (8, 7, [0, 2, 4, 6]),
        (20, 7, [0, 4, 8, 12, 16]),
        (3, 1, [0]),
    ],
)
def test_of_a_long_text_evenly_spread_blocks_are_kept(count: int, room: int, kept: list[int]):
    assert numbers(spread(blocks(count), characters=room * BLOCK)) == kept
    assert numbers(spread(["".join(blocks(count))], characters=room * BLOCK)) == kept


def test_blocks_do_not_depend_on_how_the_text_was_cut():
    text = "".join(blocks(9)) + "the end"
    pieces = [text[start : start + 1000] for start in range(0, len(text), 1000)]
    assert spread(pieces, characters=4 * BLOCK) == spread([text], characters=4 * BLOCK)


def test_of_a_single_block_nothing_is_left_out():
    assert spread(["abc"], characters=1) == ["abc"]
