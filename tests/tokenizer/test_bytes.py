"""Bytes as tokens."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.tokenizer.base import NoIdError
from andrea_exp.tokenizer.bytes import Bytes, BytesConfig

Ids = npt.NDArray[np.int64]
tokenizer = BytesConfig(name="bytes").fit([])


def assert_decoding_inverts(text: str, *, decode: Callable[[Ids], str] = tokenizer.decode) -> None:
    assert decode(tokenizer.encode(text)) == text


@given(st.text())
def test_decoding_inverts_encoding(text: str):
    assert_decoding_inverts(text)


def test_a_decoder_of_one_character_per_byte_would_be_caught():
    with pytest.raises(AssertionError):
        assert_decoding_inverts("né", decode=lambda ids: "".join(map(chr, ids.tolist())))


def test_ids_are_the_bytes_of_utf_8():
    ids = tokenizer.encode("a\né€")
    assert ids.dtype == np.int64
    # U+00E9 is 110 00011, 10 101001 and U+20AC is 1110 0010, 10 000010, 10 101100.
    assert ids.tolist() == [97, 10, 0xC3, 0xA9, 0xE2, 0x82, 0xAC]


def test_there_are_256_bytes_and_the_beginning_of_a_document():
    assert BytesConfig(name="bytes").known_size() == tokenizer.size == 257
    assert tokenizer.bos == 256


def test_the_beginning_of_a_document_decodes_to_nothing():
    assert tokenizer.decode(np.array([256, 97, 256, 98])) == "ab"


@given(st.lists(st.integers(0, 256)))
def test_arbitrary_ids_decode(ids: list[int]):
    decoded = tokenizer.decode(np.array(ids, dtype=np.int64))
    assert decoded == bytes(i for i in ids if i < 256).decode("utf-8", errors="replace")


@pytest.mark.parametrize("foreign", [-1, 257])
def test_an_id_outside_the_range_is_refused(foreign: int):
    with pytest.raises(ValueError, match=rf"id {foreign} is not one of the tokenizer's 0\.\.256"):
        tokenizer.decode(np.array([97, foreign]))


def test_half_a_surrogate_pair_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"'\\ud83d' \(U\+D83D\) at index 2"):
        tokenizer.encode("ab\ud83dc")


def test_labels_show_characters_where_a_byte_is_one():
    labels = [Bytes().label(token) for token in (97, 32, 10, 127, 128, 255, 256)]
    assert labels == ["'a'", "' '", r"'\n'", r"'\x7f'", "0x80", "0xFF", "<bos>"]


@given(st.lists(st.text()))
def test_a_text_in_pieces_has_the_ids_of_the_whole(pieces: list[str]):
    found = [token for ids in tokenizer.encode_pieces(pieces) for token in ids.tolist()]
    assert found == tokenizer.encode("".join(pieces)).tolist()


def test_half_a_surrogate_pair_in_a_later_piece_is_placed_in_the_whole_text():
    with pytest.raises(NoIdError, match="at index 5") as refused:
        list(tokenizer.encode_pieces(["abc", "d", "e\ud83d"]))
    assert refused.value.index == 5


def test_its_state_makes_it_again():
    config = BytesConfig(name="bytes")
    assert config.restore(tokenizer.state()).state() == tokenizer.state()
    assert not config.is_learned()
