"""Tokens in memory and in files."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.document import Document
from andrea_exp.data.tokens import Digest, MappedTokens, Piece, encoded, smallest_type
from andrea_exp.tokenizer.bytes import Bytes
from andrea_exp.tokenizer.chars import CharsConfig


def mapped(path: Path, *, count: int = 70_000) -> MappedTokens:
    np.arange(count).astype("<u4").tofile(path)
    return MappedTokens(path, dtype="<u4", digest="digest")


def test_a_file_is_read_through_its_mapping(tmp_path: Path):
    tokens = mapped(tmp_path / "ids")
    assert tokens.ids[:3].tolist() == [0, 1, 2]
    assert (len(tokens.ids), int(tokens.ids[-1]), tokens.digest) == (70_000, 69_999, "digest")


def test_writing_to_the_array_leaves_the_file_alone(tmp_path: Path):
    tokens = mapped(tmp_path / "ids")
    tokens.ids[0] = 7
    assert mapped_again(tmp_path / "ids").ids[0] == 0


def mapped_again(path: Path) -> MappedTokens:
    return MappedTokens(path, dtype="<u4", digest="digest")


def test_what_was_released_can_be_read_again(tmp_path: Path):
    tokens = mapped(tmp_path / "ids")
    before = tokens.ids[1000:2000].tolist()
    tokens.release()
    assert tokens.ids[1000:2000].tolist() == before == list(range(1000, 2000))


def test_releasing_gives_memory_back(tmp_path: Path):
    status = Path("/proc/self/smaps")
    if not status.exists():
        pytest.skip("no /proc here")
    tokens = mapped(tmp_path / "ids", count=2_000_000)

    def resident_kb() -> int:
        part = status.read_text().partition(str(tmp_path / "ids"))[2]
        return int(part.partition("Rss:")[2].split()[0])

    assert int(tokens.ids.sum()) == 1_999_999 * 1_000_000
    assert resident_kb() > 7000
    tokens.release()
    assert resident_kb() < 100


def test_a_copy_goes_by_the_file_s_name(tmp_path: Path):
    tokens = mapped(tmp_path / "ids")
    packed = pickle.dumps(tokens)
    assert len(packed) < 1000
    again: MappedTokens = pickle.loads(packed)  # noqa: S301
    assert again.ids.tolist() == tokens.ids.tolist()
    assert again.digest == "digest"


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(65, "<u1"), (256, "<u1"), (257, "<u2"), (65_536, "<u2"), (65_537, "<u4")],
)
def test_ids_are_stored_in_the_smallest_type(size: int, dtype: str):
    assert smallest_type(size) == dtype
    assert int(np.array(size - 1).astype(dtype)) == size - 1


def test_a_document_begins_with_its_mark():
    documents = [Document("one", "ab"), Document("two", "")]
    pieces = list(encoded(documents, tokenizer=Bytes(), part="training"))
    assert [(piece.ids.tolist(), piece.begins) for piece in pieces] == [
        ([256], True),
        ([97, 98], False),
        ([256], True),
        ([], False),
    ]


def test_a_character_without_an_id_is_refused_with_part_and_place():
    chars = CharsConfig(name="chars", bos=False).fit(["ab"])
    with pytest.raises(Refusal, match=r"validation text two: character 'x' .* at index 1"):
        list(encoded([Document("two", "bx")], tokenizer=chars, part="validation"))


def digest(*pieces: tuple[list[int], bool]) -> str:
    found = Digest()
    for ids, begins in pieces:
        found.update(Piece(np.array(ids, dtype=np.int64), begins=begins))
    return found.hexdigest()


def test_the_digest_does_not_depend_on_how_documents_are_cut():
    whole = digest(([1, 2, 3], True), ([4], True))
    assert whole == digest(([1], True), ([], False), ([2, 3], False), ([4], True))


def test_the_digest_tells_ids_order_and_starts_apart():
    kinds = [
        digest(([1, 2, 3], True), ([4], True)),
        digest(([1, 2], True), ([3, 4], True)),
        digest(([1, 2, 3, 4], True)),
        digest(([1, 3, 2], True), ([4], True)),
        digest(([1, 2, 3], True), ([5], True)),
    ]
    assert len(set(kinds)) == 5
