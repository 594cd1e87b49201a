"""Which files a user means."""

import hashlib
import os
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.files import File, find, hashed

TREE = ("a.txt", "b/c.txt", "b/d.md", "b/deep/e.txt", ".hidden.txt", "b/.git/f.txt", "[g].txt")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def found(tree: Path, *words: str) -> list[str]:
    paths = find([str(tree / word) for word in words], key="data.path")
    return [os.path.relpath(path, tree) for path in paths]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["a.txt"], ["a.txt"]),
        ([""], ["[g].txt", "a.txt", "b/c.txt", "b/d.md", "b/deep/e.txt"]),
        (["b"], ["b/c.txt", "b/d.md", "b/deep/e.txt"]),
        (["*.txt"], ["[g].txt", "a.txt"]),
        (["**/*.txt"], ["[g].txt", "a.txt", "b/c.txt", "b/deep/e.txt"]),
        (["b/*"], ["b/c.txt", "b/d.md", "b/deep/e.txt"]),
        (["b/[cd].*"], ["b/c.txt", "b/d.md"]),
        (["[g].txt"], ["[g].txt"]),
        ([".hidden.txt"], [".hidden.txt"]),
        (["b/.git"], ["b/.git/f.txt"]),
        (["b/c.txt", "a.txt", "*.txt", "b/../a.txt"], ["[g].txt", "a.txt", "b/c.txt"]),
        ([], []),
    ],
)
def test_files_folders_and_patterns_give_each_file_once_in_order(
    tree: Path, words: list[str], expected: list[str]
):
    assert found(tree, *words) == expected


def test_a_link_to_a_file_is_that_file(tree: Path):
    (tree / "link.txt").symlink_to(tree / "a.txt")
    assert found(tree, "a.txt", "link.txt") == ["a.txt"]
    assert found(tree, "link.txt") == ["link.txt"]


def test_a_folder_that_links_to_itself_ends(tree: Path):
    (tree / "b" / "loop").symlink_to(tree / "b")
    assert found(tree, "b") == ["b/c.txt", "b/d.md", "b/deep/e.txt"]


def test_the_home_directory_is_known(tree: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tree))
    assert find(["~/a.txt"], key="data.path") == [str(tree / "a.txt")]


@pytest.mark.parametrize("word", ["gone.txt", "*.pdf", "empty"])
def test_a_word_that_names_nothing_is_refused(tree: Path, word: str):
    (tree / "empty").mkdir()
    with pytest.raises(
        Refusal, match=r"data\.path: there is no file .*" + word.replace("*", r"\*")
    ):
        found(tree, "a.txt", word)


def test_the_hash_is_that_of_the_content(tmp_path: Path):
    content = b"x" * 3_000_000
    (tmp_path / "a").write_bytes(content)
    (file,) = hashed([str(tmp_path / "a")])
    assert file.digest == hashlib.sha256(content).hexdigest()
    assert file.size == 3_000_000


def test_what_is_no_regular_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refusal, match="pipe is not a regular file"):
        find([str(tmp_path / "pipe")], key="data.path")
    (tmp_path / "broken").symlink_to(tmp_path / "gone")
    with pytest.raises(Refusal, match="broken cannot be read: No such file"):
        find([str(tmp_path / "broken")], key="data.path")


def halves(tmp_path: Path, text: str, *, share: float) -> list[str]:
    (tmp_path / "text").write_bytes(text.encode())
    (file,) = hashed([str(tmp_path / "text")])
    return ["".join(part.pieces()) for part in file.split(share)]


def test_a_file_is_split_at_a_share_of_its_bytes(tmp_path: Path):
    assert halves(tmp_path, "0123456789", share=0.1) == ["012345678", "9"]
    assert halves(tmp_path, "0123456789", share=0.25) == ["0123456", "789"]  # 7.5, rounded down
    assert halves(tmp_path, "", share=0.25) == ["", ""]
    assert halves(tmp_path, "x", share=0.25) == ["", "x"]


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_no_character_is_split(tmp_path: Path, share: float):
    text = "aé中\N{GRINNING FACE}b中"
    first, second = halves(tmp_path, text, share=share)
    assert first + second == text


def test_a_file_that_changed_since_is_refused(tmp_path: Path):
    path = tmp_path / "a"
    path.write_text("before")
    (file,) = hashed([str(path)])
    file.check_unchanged()
    os.utime(path, ns=(0, file.modified_ns + 1))
    with pytest.raises(Refusal, match="a changed while it was read"):
        file.check_unchanged()
    os.utime(path, ns=(0, file.modified_ns))
    file.check_unchanged()
    longer = File(file.path, file.size + 1, file.modified_ns, file.digest)
    with pytest.raises(Refusal, match="a changed while it was read"):
        longer.check_unchanged()
