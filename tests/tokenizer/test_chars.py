"""Characters as tokens."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.tokenizer.base import NoIdError
from andrea_exp.tokenizer.chars import CharsConfig

with_bos = CharsConfig(name="chars", bos=True)
without_bos = CharsConfig(name="chars", bos=False)

# Code points: newline 10, e 101, h 104, l 108, o 111, e-acute 233, an emoji 128512.
training_texts = ["hello", "o\n\N{GRINNING FACE}", "hé"]
golden = {"\n": 0, "e": 1, "h": 2, "l": 3, "o": 4, "é": 5, "\N{GRINNING FACE}": 6}


def assert_ids_follow_code_points(ids: npt.NDArray[np.int64], *, text: str):
    assert ids.tolist() == [golden[character] for character in text]


@pytest.mark.parametrize("config", [with_bos, without_bos])
def test_ids_follow_the_code_points_of_the_training_text(config: CharsConfig):
    ids = config.fit(training_texts).encode("hé\n\N{GRINNING FACE}lo")
    assert ids.dtype == np.int64
    assert_ids_follow_code_points(ids, text="hé\n\N{GRINNING FACE}lo")


def test_ids_by_first_occurrence_would_be_caught():
    first_come = list(dict.fromkeys("".join(training_texts)))
    ids = np.array([first_come.index(character) for character in "hello"])
    with pytest.raises(AssertionError):
        assert_ids_follow_code_points(ids, text="hello")


def test_the_beginning_of_a_document_comes_last():
    tokenizer = with_bos.fit(training_texts)
    assert (tokenizer.size, tokenizer.bos) == (8, 7)


def test_without_a_beginning_there_are_only_characters():
    tokenizer = without_bos.fit(training_texts)
    assert (tokenizer.size, tokenizer.bos) == (7, None)


def test_the_size_is_unknown_before_the_text_is_read():
    assert with_bos.known_size() is None


@given(st.text(st.characters(codec=None, exclude_categories=[])), st.booleans())
def test_decoding_inverts_encoding(text: str, bos: bool):
    tokenizer = CharsConfig(name="chars", bos=bos).fit([text[::2], text[1::2]])
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_the_beginning_of_a_document_decodes_to_nothing():
    assert with_bos.fit(training_texts).decode(np.array([7, 2, 7, 1])) == "he"


@pytest.mark.parametrize("foreign", [-1, 7])
def test_an_id_outside_the_range_is_refused(foreign: int):
    with pytest.raises(ValueError, match=rf"id {foreign} is not one of the tokenizer's 0\.\.6"):
        without_bos.fit(training_texts).decode(np.array([0, foreign]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hex", r"'x' \(U\+0078\) at index 2"),  # between known ones
        ("\thello", r"'\\t' \(U\+0009\) at index 0"),  # below all known ones
        ("lo\U0001f600\U0001f601", r"\(U\+1F601\) at index 3"),  # just above them
        ("\U0010ffff", r"\(U\+10FFFF\) at index 0"),  # the highest there is
    ],
)
def test_an_unknown_character_is_refused_with_its_place(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        with_bos.fit(training_texts).encode(text)


def test_labels_are_the_characters_as_python_writes_them():
    tokenizer = with_bos.fit(training_texts)
    assert [tokenizer.label(token) for token in (0, 1, 5, 7)] == [r"'\n'", "'e'", "'é'", "<bos>"]


@given(st.lists(st.text()))
def test_a_text_in_pieces_has_the_ids_of_the_whole(pieces: list[str]):
    tokenizer = without_bos.fit(pieces)
    found = [token for ids in tokenizer.encode_pieces(pieces) for token in ids.tolist()]
    assert found == tokenizer.encode("".join(pieces)).tolist()


def test_an_unknown_character_in_a_later_piece_is_placed_in_the_whole_text():
    with pytest.raises(NoIdError, match=r"'x' \(U\+0078\) at index 5") as refused:
        list(with_bos.fit(training_texts).encode_pieces(["hel", "l", "ox"]))
    assert refused.value.index == 5


@pytest.mark.parametrize("config", [with_bos, without_bos])
def test_its_state_makes_it_again(config: CharsConfig):
    tokenizer = config.fit(training_texts)
    again = config.restore(tokenizer.state())
    assert again.state() == tokenizer.state()
    assert (again.size, again.bos) == (tokenizer.size, tokenizer.bos)
    assert again.encode("hello").tolist() == tokenizer.encode("hello").tolist()


def test_its_identity_tells_whether_documents_have_a_beginning():
    assert with_bos.identity() != without_bos.identity()
    assert not with_bos.is_learned()
