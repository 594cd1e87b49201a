"""Text that no run can be made of is refused before anything is written, with file and remedy."""

from pathlib import Path

import pytest

from andrea_exp import job
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.data.cache import VARIABLE
from andrea_exp.freeze import freeze_single
from tests.commands import tiny
from tests.commands.test_refusals import refused

Said = pytest.CaptureFixture[str]

PLAIN = "All happy families are alike; each unhappy family is unhappy in its own way.\n" * 9
FILES = {
    "book.txt": PLAIN.encode(),
    "empty.txt": b"",
    "few.txt": b"few",
    "binary.txt": PLAIN.encode()[:40] + b"\0" + PLAIN.encode(),
    "latin.txt": PLAIN.encode()[:50] + "caf\xe9 ".encode("latin-1") + PLAIN.encode(),
    "wide.txt": PLAIN.encode("utf-16-le"),
    "snow.txt": b"All happy\nfamilies in the \xe2\x98\x83\n" * 9,
}
WORDS = (*tiny.SMALL, *tiny.SHORT, *tiny.QUICK, *tiny.RUNNING)
UNUSABLE = {
    "data=text": ["data=text", "data.path=FILE"],
    "data=text data.path=gone.txt": ["data.path: there is no file", "/gone.txt", "give a file"],
    "data=text data.path=empty.txt": ["data.path:", "/empty.txt is empty", "name files with text"],
    "data=text data.path=few.txt": [
        "the training text has 3 tokens, fewer than the 9",
        "model.context=8",
        "give more text",
    ],
    "data=text data.path=binary.txt": ["/binary.txt has a NUL at byte 40", "convert it to UTF-8"],
    "data=text data.path=latin.txt": ["/latin.txt is not UTF-8: 0xE9 at byte 53", "convert it"],
    "data=text data.path=wide.txt": ["/wide.txt has a NUL at byte 1", "another encoding"],
    "data=text data.path=book.txt data.validation_path=empty.txt": [
        "data.validation_path:",
        "/empty.txt is empty",
    ],
    "data=text data.path=book.txt data.validation_path=few.txt": [
        "the validation text has 4 tokens, fewer than the 9",
        "give more text",
    ],
    "data=text data.path=book.txt data.validation_share=0.001": [
        "the validation text has 2 tokens",
        "give more text",
    ],
    "data=text data.path=book.txt data.validation_path=book.txt": [
        "/book.txt is named by data.path and by data.validation_path",
        "leave the file out of one",
    ],
    "data=text data.path=book.txt data.validation_path=snow.txt tokenizer=chars": [
        "validation text /",
        "/snow.txt, line 2, byte 26: character '\u2603' (U+2603)",
        "tokenizer=bytes",
    ],
    "data=text data.path=book.txt tokenizer=bpe tokenizer.size=256": [
        "tokenizer.size must be at least 257, got 256"
    ],
    "data=text data.path=book.txt tokenizer=bpe tokenizer.vocab=256": [
        "unknown key tokenizer.vocab=256",
        "tokenizer.size",
    ],
    "data=text data.path=book.txt tokenizer=bpe_50257": [
        "tokenizer=bpe: the training text gives only",
        "of size=50257",
        "lower it",
    ],
    "data=text data.path=book.txt tokenizer=null": ["tokenizer=null is no option", "bytes, chars"],
    "data=stdlib tokenizer=null": ["tokenizer=null is no option", "bytes, chars"],
    "data=grammar tokenizer=null": ["tokenizer=null is no option"],
    "data=grammar tokenizer=bytes": ["data=grammar", "leave out tokenizer=", "data set of text"],
    "data=grammar tokenizer.size=300": ["unknown key tokenizer.size=300", "tokenizer=bpe"],
    "data=noise tokenizer=chars": ["data=noise", "leave out tokenizer=", "data set of text"],
}


@pytest.fixture
def texts(place: Path) -> Path:
    """The current folder, with texts of every kind."""
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    return place


@pytest.mark.parametrize("request_", UNUSABLE)
def test_text_that_cannot_be_used_is_refused_in_one_line(
    request_: str, texts: Path, capsys: Said
) -> None:
    line = refused(main, [*WORDS, *request_.split()], place=texts, said=capsys)
    for part in UNUSABLE[request_]:
        assert part in line


def test_the_same_words_with_text_that_can_be_used_are_frozen(texts: Path) -> None:
    words = "data=text data.path=book.txt data.validation_path=snow.txt tokenizer=bpe"
    asked = request([*WORDS, *words.split(), "tokenizer.size=257"])
    assert (texts / freeze_single(asked).path).is_dir()


def test_a_file_in_the_place_of_the_cache_is_named(
    texts: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setenv(VARIABLE, str(texts / "empty.txt"))
    words = [*WORDS, "data=text", "data.path=book.txt"]
    line = refused(main, words, place=texts, said=capsys)
    for part in (f"the cache folder {texts}/empty.txt", "Not a directory", VARIABLE):
        assert part in line


def test_text_that_is_spoilt_after_the_freeze_leaves_the_run_to_be_executed_later(
    texts: Path, capsys: Said
) -> None:
    run = freeze_single(request([*WORDS, "data=text", "data.path=book.txt"])).path
    book = texts / "book.txt"

    def refuses(part: str) -> None:
        assert job.main([str(run)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        manifest = tiny.manifest(run)
        assert part in line
        assert part in manifest["failure"]["message"]
        assert manifest["status"] == "pending"

    book.unlink()
    refuses("there is no file")
    book.write_bytes(FILES["latin.txt"])
    refuses("book.txt is not UTF-8: 0xE9 at byte 53")
    book.write_bytes(FILES["book.txt"])
    assert job.main([str(run)]) == 0
    assert tiny.manifest(run)["failure"] is None
