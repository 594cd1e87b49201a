"""A text cut into words, which no merge of byte pairs may cross.

GPT-2's rule (Radford et al. 2019) with two deviations: the underscore counts as a letter, so that
`snake_case` is one word; and a word has at most `LONGEST` characters besides its leading space, so
that one endless line without a space needs no memory of its size.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

LONGEST: Final = 128
"""Characters of a word, its leading space not counted."""

PATTERN: Final = (
    r"'(?:[sdmt]|ll|ve|re)"
    rf"| ?[^\W\d]{{1,{LONGEST}}}"
    rf"| ?\d{{1,{LONGEST}}}"
    rf"| ?[^\w\s]{{1,{LONGEST}}}"
    rf"|\s{{1,{LONGEST}}}(?!\S)"
    rf"|\s{{1,{LONGEST}}}"
)
"""Python's regular expression for one word; every character belongs to one."""

_WORD = re.compile(PATTERN)
# What the pattern reads from the start of a word on: space, characters, and the one behind them.
_REACH = LONGEST + 2
_BLOCK = 2**16


def words_of(text: str) -> list[str]:
    """The words of a text; joined they are the text."""
    return _WORD.findall(text)


def take_unsettled(words: list[str]) -> str:
    """Take from the end of a list the words that more text could still change, joined."""
    taken: list[str] = []
    held = 0
    while words and held < _REACH:
        taken.append(words.pop())
        held += len(taken[-1])
    return "".join(reversed(taken))


def spread(texts: Iterable[str], *, characters: int) -> list[str]:
    """Blocks of a text, all of them or evenly spread ones of at most so many characters together.

    Of a single block nothing is left out.
    """
    kept: list[str] = []
    held, step = 0, 1
    for index, block in enumerate(_blocks(texts)):
        if index % step == 0:
            kept.append(block)
            held += len(block)
        while held > characters and len(kept) > 1:
            kept, step = kept[::2], 2 * step
            held = sum(map(len, kept))
    return kept


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    """The same blocks however the text was cut."""
    rest = ""
    for text in texts:
        rest += text
        stop = len(rest) // _BLOCK * _BLOCK
        yield from (rest[start : start + _BLOCK] for start in range(0, stop, _BLOCK))
        rest = rest[stop:]
    if rest:
        yield rest
