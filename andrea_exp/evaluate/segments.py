"""Which targets of the validation text are scored: the same ones at every length.

Segments of one size lie evenly over the whole text and do not overlap. Each is scored as a text of
its own, so that a protocol's windows never join two far places.
"""

from typing import NamedTuple

from andrea_exp.evaluate.protocol import Window, sliding


class Sample(NamedTuple):
    """Segments of equal size, in order."""

    starts: tuple[int, ...]
    """Index of the first input of each."""
    size: int
    """Targets in each."""

    @property
    def num_targets(self) -> int:
        """Targets of all segments together."""
        return len(self.starts) * self.size

    def windows(self, *, length: int, stride: int) -> list[Window]:
        """Windows of the protocol over every segment; block if the stride is the length."""
        inside = sliding(self.size + 1, length=length, stride=stride)
        return [window.shifted(start) for start in self.starts for window in inside]

    def part(self, targets: int) -> "Sample":
        """An evenly spread choice of the segments, with at least `targets` targets or all."""
        total = len(self.starts)
        count = min(total, -(-targets // self.size))
        chosen = [(2 * index + 1) * total // (2 * count) for index in range(count)]
        return Sample(tuple(self.starts[index] for index in chosen), self.size)


def sample(num_tokens: int, *, longest: int, targets: int) -> Sample:
    """Segments with at least `targets` targets, or as many as the text has room for.

    A segment has twice the longest length, so that sliding windows of that length can slide; in a
    text with no room for that it is the whole text.

    Args:
        num_tokens: tokens of the text.
        longest: the longest length that will be scored.
        targets: how many targets are wanted.

    Raises:
        ValueError: the text is shorter than one window of the longest length.
    """
    available = num_tokens - 1
    if available < longest:
        raise ValueError(f"{num_tokens} tokens hold no window of {longest} and its last target")
    size = min(2 * longest, available)
    return Sample(spread(available, size=size, count=-(-targets // size)), size)


def spread(available: int, *, size: int, count: int) -> tuple[int, ...]:
    """Starts of `count` segments that do not overlap, or of as many as there is room for.

    Each lies in the middle of its share of the text: (k + 1/2) available/count - size/2.
    """
    count = min(available // size, count)
    return tuple(
        ((2 * index + 1) * available - count * size) // (2 * count) for index in range(count)
    )
