"""A user's own text."""

from pathlib import Path

import numpy as np
import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.text import TextConfig
from andrea_exp.tokenizer.base import TokenizerConfig
from andrea_exp.tokenizer.bpe import BpeConfig
from andrea_exp.tokenizer.bytes import BytesConfig
from andrea_exp.tokenizer.chars import CharsConfig

BOS = 256
bytes_config = BytesConfig(name="bytes")
chars_config = CharsConfig(name="chars", bos=True)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / ".cache"))
    return tmp_path / ".cache"


def write(folder: Path, **texts: str | bytes) -> Path:
    for name, text in texts.items():
        content = text.encode() if isinstance(text, str) else text
        (folder / f"{name}.txt").write_bytes(content)
    return folder


def load(
    *paths: Path | str,
    validation: tuple[Path | str, ...] = (),
    share: float = 0.25,
    tokenizer: TokenizerConfig | None = bytes_config,
    context: int = 3,
) -> Corpus:
    config = TextConfig(
        name="text",
        batch_size=5,
        path=[str(path) for path in paths],
        validation_path=[str(path) for path in validation],
        validation_share=share,
        sample_tokens=1000,
    )
    return config.load(tokenizer=tokenizer, context=context)


def documents(data: Corpus, ids: np.ndarray) -> list[str]:
    """The texts between the beginnings."""
    pieces = np.split(ids, np.flatnonzero(ids == BOS))
    assert len(pieces[0]) == 0
    return [data.tokenizer.decode(piece) for piece in pieces[1:]]


def test_the_end_of_every_file_is_validation_text(tmp_path: Path):
    data = load(write(tmp_path, b="01234567", a="abcdefghijkl"))
    assert documents(data, data.training_sample()) == ["abcdefghi", "012345"]
    assert documents(data, data.validation()) == ["jkl", "67"]
    assert data.train_tokens == 17


def test_a_path_for_validation_leaves_the_training_files_whole(tmp_path: Path):
    folder = write(tmp_path, a="abcdefgh", v="validate", w="this")
    data = load(folder / "a.txt", validation=(folder / "v.txt", folder / "w.txt"))
    assert documents(data, data.training_sample()) == ["abcdefgh"]
    assert documents(data, data.validation()) == ["validate", "this"]


def test_nanogpt_s_split_is_met_to_the_character(tmp_path: Path):
    text = "x" * 1_115_394  # the length of its Shakespeare, of which it takes int(0.9 n)
    chars = CharsConfig(name="chars", bos=False)
    data = load(write(tmp_path, a=text), share=0.1, tokenizer=chars)
    assert (data.train_tokens, len(data.validation())) == (1_003_854, 111_540)


def test_empty_files_are_passed_over(tmp_path: Path):
    data = load(write(tmp_path, a="", b="abcdefgh", c=""), share=0.5)
    assert documents(data, data.training_sample()) == ["abcd"]
    assert documents(data, data.validation()) == ["efgh"]


def test_line_ends_stay_and_one_endless_line_is_read(tmp_path: Path):
    text = "one\r\ntwo\r" + "three" * 100_000
    data = load(write(tmp_path, a=text), share=0.5)
    read = documents(data, data.training_sample()[:1000]) + documents(data, data.validation())
    assert read[0] == text[:999]
    assert read[1] == "three" * 50_000 + text[len(text) // 2 : -250_000]


def test_many_small_files_are_read(tmp_path: Path):
    for number in range(500):
        (tmp_path / f"{number:03d}").write_bytes(b"%03d" % number)
    data = load(tmp_path)
    assert documents(data, data.validation()) == [f"{number % 10}" for number in range(500)]


def test_the_user_s_folder_is_left_as_it_was(tmp_path: Path):
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder, a="abcdefghijkl")
    load(folder)
    assert [path.name for path in folder.iterdir()] == ["a.txt"]


def test_the_cache_knows_the_content_and_not_the_name(tmp_path: Path, cache: Path):
    def entries() -> int:
        return len([path for path in (cache / "tokens").iterdir() if path.name[0] != "."])

    first = load(write(tmp_path, a="abcdefghijkl"))
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    assert load(tmp_path).fingerprint == first.fingerprint
    assert entries() == 1
    assert load(write(tmp_path, b="abcdefghijkL")).fingerprint != first.fingerprint
    load(tmp_path, share=0.5)
    load(tmp_path, share=0.5, tokenizer=BpeConfig(name="bpe", size=257, sample_characters=9))
    assert entries() == 4


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"a": b"abc\xe9 not UTF-8"}, r"a\.txt is not UTF-8: 0xE9 at byte 3"),
        ({"a": b"abc\0d"}, r"a\.txt has a NUL at byte 3"),
        ({"a": ""}, r"data\.path: .*a\.txt is empty; name files with text"),
        (
            {"a": "", "b": ""},
            r"data\.path: .*a\.txt is empty, and so is every other of the 2; name",
        ),
        ({"a": "ab"}, r"the training text has 2 tokens, fewer than the 4"),
        ({"a": "abcdefgh"}, r"the validation text has 3 tokens, fewer than the 4"),
    ],
)
def test_a_text_that_cannot_be_used_is_refused(
    tmp_path: Path, texts: dict[str, str | bytes], message: str
):
    with pytest.raises(Refusal, match=message):
        load(write(tmp_path, **texts))


def test_a_nul_is_refused_with_every_tokenizer(tmp_path: Path):
    write(tmp_path, a=b"abc\0" * 1000)
    bpe = BpeConfig(name="bpe", size=257, sample_characters=1000)
    for tokenizer in (bytes_config, chars_config, bpe):
        with pytest.raises(Refusal, match=r"a\.txt has a NUL at byte 3"):
            load(tmp_path, tokenizer=tokenizer)


def test_a_character_the_training_text_lacks_is_named_with_file_line_and_byte(tmp_path: Path):
    folder = write(tmp_path, a="abcä\n" * 5, v="abcä\nabx")
    with pytest.raises(Refusal, match=r"v\.txt, line 2, byte 8: character 'x' \(U\+0078\)"):
        load(folder / "a.txt", validation=(folder / "v.txt",), tokenizer=chars_config)


def test_a_file_on_both_sides_is_refused(tmp_path: Path):
    folder = write(tmp_path, a="abcdefgh", v="validate")
    (folder / "link.txt").symlink_to(folder / "v.txt")
    with pytest.raises(Refusal, match=r"link\.txt is named by data\.path and by data\.validation"):
        load(folder / "*.txt", validation=(folder / "link.txt",))


def test_nothing_named_is_refused_with_what_to_say():
    with pytest.raises(Refusal, match=r"data\.path=FILE"):
        load()


def test_empty_validation_text_is_refused_by_its_key(tmp_path: Path):
    write(tmp_path, a="abcdefgh", v="")
    with pytest.raises(Refusal, match=r"data\.validation_path: .*v\.txt is empty"):
        load(tmp_path / "a.txt", validation=(tmp_path / "v.txt",))


def test_a_path_that_is_not_there_is_refused_by_its_key(tmp_path: Path):
    write(tmp_path, a="abcdefgh")
    with pytest.raises(Refusal, match=rf"data\.path: there is no file {tmp_path}/gone"):
        load(tmp_path / "gone")
    with pytest.raises(Refusal, match=rf"data\.validation_path: there is no file {tmp_path}/gone"):
        load(tmp_path / "a.txt", validation=(tmp_path / "gone",))


def test_text_needs_a_tokenizer(tmp_path: Path):
    assert not TextConfig.has_own_ids()
    with pytest.raises(Refusal, match="data=text needs a tokenizer"):
        load(tmp_path, tokenizer=None)
