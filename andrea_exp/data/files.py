"""From what a user calls the text to files, each with the hash of its content."""

import glob
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from andrea_exp.component import Refusal
from andrea_exp.data.progress import Progress
from andrea_exp.data.text_file import TextFile

_BLOCK = 2**20
_LONGEST_CHARACTER = 4


@final
@dataclass(frozen=True)
class File:
    """A file as it was when it was hashed."""

    path: str
    size: int
    """Bytes."""
    modified_ns: int
    digest: str
    """SHA-256 of its content."""

    def whole(self) -> TextFile:
        """All of it as a text."""
        return TextFile(self.path, 0, self.size)

    def split(self, share: float) -> tuple[TextFile, TextFile]:
        """Its beginning, and its last `share` by bytes, cut between two characters."""
        cut = _character_start(self.path, int(self.size * (1 - share)))
        return TextFile(self.path, 0, cut), TextFile(self.path, cut, self.size)

    def check_unchanged(self) -> None:
        """Refuse a file that was written to since it was hashed.

        Raises:
            Refusal: it has another size or time.
        """
        now = _status(self.path)
        if (now.st_size, now.st_mtime_ns) != (self.size, self.modified_ns):
            raise Refusal(f"{self.path} changed while it was read; run again once it is complete")


def find(words: Sequence[str], *, key: str) -> list[str]:
    """The files that some words name, each once, sorted by path.

    A word is a file, a folder or a pattern such as `books/**/*.txt`; `~` is the home directory. A
    folder, also one that a pattern matches, stands for all files below it but those whose name, or
    a folder's name on the way, begins with a dot. Links to files are followed, to folders not.

    Args:
        words: what stands in the configuration.
        key: where it stands, for messages.

    Raises:
        Refusal: a word names nothing, or something that is not a regular file.
    """
    found: dict[tuple[int, int], str] = {}
    for word in words:
        paths = sorted(_named(os.path.expanduser(word)))
        if not paths:
            raise Refusal(
                f"{key}: there is no file {word}; give a file, a folder with files in it, or a "
                "quoted pattern such as '*.txt'"
            )
        for path in paths:
            found.setdefault(identity(path), path)
    return sorted(found.values())


def identity(path: str) -> tuple[int, int]:
    """What a file is to the system, by whatever name.

    Raises:
        Refusal: it cannot be read, or is not a regular file.
    """
    status = _status(path)
    return status.st_dev, status.st_ino


def hashed(paths: Sequence[str]) -> list[File]:
    """The files with their content's hash.

    Raises:
        Refusal: one cannot be read.
    """
    sizes = [_status(path).st_size for path in paths]
    with Progress("reading", total=sum(sizes)) as progress:
        return [_hashed(path, progress=progress) for path in paths]


def _hashed(path: str, *, progress: Progress) -> File:
    status = _status(path)
    digest, size = hashlib.sha256(), 0
    try:
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                progress.advance(len(block))
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    return File(path, size, status.st_mtime_ns, digest.hexdigest())


def _status(path: str) -> os.stat_result:
    try:
        status = os.stat(path)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(f"{path} is not a regular file; write its content into one")
    return status


def _named(word: str) -> Iterator[str]:
    """Files that one word names; a name that exists is no pattern."""
    for path in [word] if os.path.lexists(word) else glob.iglob(word, recursive=True):
        if os.path.isdir(path):
            yield from _below(path)
        else:
            yield path


def _below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(parent, name) for name in names if not name.startswith("."))


def _refuse(error: OSError) -> None:
    raise Refusal(f"{error.filename} cannot be read: {error.strerror}") from error


def _character_start(path: str, offset: int) -> int:
    """The first place from `offset` on that is not inside a UTF-8 character."""
    with open(path, "rb") as file:
        file.seek(offset)
        following = file.read(_LONGEST_CHARACTER)
    for place, byte in enumerate(following):
        if byte & 0xC0 != 0x80:  # continuation bytes are 10xxxxxx
            return offset + place
    return offset + len(following)
