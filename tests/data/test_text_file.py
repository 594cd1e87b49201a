"""Files read as text, piece by piece."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.component import Refusal
from andrea_exp.data import text_file
from andrea_exp.data.text_file import TextFile


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch):
    """Every file has many blocks, and characters lie across their borders."""
    monkeypatch.setattr(text_file, "_BLOCK", 5)


def whole(path: Path, content: bytes) -> TextFile:
    path.write_bytes(content)
    return TextFile(str(path), 0, len(content))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_the_pieces_are_the_text(tmp_path_factory: pytest.TempPathFactory, text: str):
    path = tmp_path_factory.getbasetemp() / "text.txt"
    assert "".join(whole(path, text.encode()).pieces()) == text


def test_line_ends_and_a_byte_order_mark_stay(tmp_path: Path):
    text = "\ufeffone\r\ntwo\rthree\n\n"
    assert "".join(whole(tmp_path / "text", text.encode()).pieces()) == text


def test_a_part_is_a_part(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes("näher als fern".encode())
    assert "".join(TextFile(str(path), 3, 11).pieces()) == "her als "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"abc\xe9def\n", r"is not UTF-8: 0xE9 at byte 3, invalid continuation byte"),
        (b"0123456789\xff", r"is not UTF-8: 0xFF at byte 10, invalid start byte"),
        ("0123 München".encode("latin-1"), r"is not UTF-8: 0xFC at byte 6"),
        ("abcdefé".encode()[:-1], r"is not UTF-8: 0xC3 at byte 6, unexpected end of data"),
        (b"0123456\x0089", r"has a NUL at byte 7, so it is binary or in another encoding"),
        ("wide".encode("utf-16"), r"has a NUL at byte 3, so it is binary or in another encoding"),
    ],
)
def test_what_is_no_utf8_text_is_refused_with_file_and_byte(
    tmp_path: Path, content: bytes, message: str
):
    with pytest.raises(Refusal, match=rf"{tmp_path}/text {message}"):
        list(whole(tmp_path / "text", content).pieces())


def test_a_place_is_told_by_line_and_byte(tmp_path: Path):
    text = "älter\r\nneu\nüber x"
    file = whole(tmp_path / "text", text.encode())
    for index in range(len(text)):
        before = text[:index]
        expected = f"{tmp_path}/text, line {before.count(chr(10)) + 1}, byte {len(before.encode())}"
        assert file.where(index) == expected


def test_a_place_in_a_part_is_told_as_in_the_file(tmp_path: Path):
    path = tmp_path / "text"
    path.write_bytes("ä\nbcd\nefghijkl".encode())
    assert TextFile(str(path), 3, 15).where(5).endswith("text, line 3, byte 8")


def test_a_file_that_is_gone_is_refused(tmp_path: Path):
    with pytest.raises(Refusal, match=f"cannot be read: {os.strerror(2)}"):
        list(TextFile(str(tmp_path / "gone"), 0, 3).pieces())
