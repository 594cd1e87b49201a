"""A part of a UTF-8 file as a text, decoded strictly and piece by piece."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.data.document import Text

_BLOCK = 2**20


@final
@dataclass(frozen=True)
class TextFile(Text):
    """The bytes `start` to `stop` of a file, which begin and end between two characters.

    Line ends stay as they are, and so does a byte order mark.
    """

    path: str
    start: int
    stop: int

    @override
    def pieces(self) -> Iterator[str]:
        rest = b""
        for offset, block in _blocks(self.path, self.start, self.stop):
            content = rest + block
            text, used = self._decoded(content, offset=offset - len(rest), final=False)
            rest = content[used:]
            yield text
        self._decoded(rest, offset=self.stop - len(rest), final=True)

    @override
    def where(self, index: int) -> str:
        """File, line and byte; the line as an editor counts it, the byte from 0."""
        byte = self.start
        for piece in self.pieces():
            before = piece[:index]
            byte += len(before.encode())
            index -= len(before)
            if index == 0 and len(before) < len(piece):
                break
        lines = sum(block.count(b"\n") for _, block in _blocks(self.path, 0, byte))
        return f"{self.path}, line {lines + 1}, byte {byte}"

    def _decoded(self, content: bytes, *, offset: int, final: bool) -> tuple[str, int]:
        """The text of some bytes, and how many of them it takes."""
        if (nul := content.find(0)) >= 0:
            raise Refusal(
                f"{self.path} has a NUL at byte {offset + nul}, so it is binary or in another "
                "encoding than UTF-8; leave it out, or convert it to UTF-8"
            )
        try:
            return codecs.utf_8_decode(content, "strict", final)
        except UnicodeDecodeError as error:
            raise Refusal(
                f"{self.path} is not UTF-8: 0x{content[error.start]:02X} at byte "
                f"{offset + error.start}, {error.reason}; leave it out, or convert it to UTF-8"
            ) from error


def _blocks(path: str, start: int, stop: int) -> Iterator[tuple[int, bytes]]:
    """Pieces of a file, each with the place of its first byte."""
    try:
        with open(path, "rb") as file:
            file.seek(start)
            offset = start
            while offset < stop and (block := file.read(min(_BLOCK, stop - offset))):
                yield offset, block
                offset += len(block)
    except OSError as error:
        raise Refusal(f"{path} cannot be read: {error.strerror}") from error
