"""Which windows score a text: every target exactly once, under either protocol.

A text of N tokens has N-1 targets. Windows start at multiples of the stride. The first one scores
all its targets, each later one only its last `stride`, so that these have seen at least
length - stride tokens; the last window may be shorter, at its start's place. **block** is the
stride that equals the length: no window overlaps another, and early targets see little.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Window(NamedTuple):
    """One forward pass over the tokens from `start` up to `stop`.

    The target of the input at index i is the token at i + 1.
    """

    start: int
    """Index of the first input."""
    stop: int
    """Index after the last input."""
    first: int
    """Index of the first input whose target is scored; those up to `stop` are."""

    def shifted(self, offset: int) -> "Window":
        """The same window of a text that begins at `offset`."""
        return Window(self.start + offset, self.stop + offset, self.first + offset)


def block(num_tokens: int, *, length: int) -> list[Window]:
    """ceil((N-1) / length) windows, each of which scores all its targets.

    Raises:
        ValueError: there is no target, or no length.
    """
    return sliding(num_tokens, length=length, stride=length)


def sliding(num_tokens: int, *, length: int, stride: int) -> list[Window]:
    """1 + ceil((N-1 - length) / stride) windows, or one for a text within the length.

    Raises:
        ValueError: there is no target, or the stride would leave targets out.
    """
    if num_tokens < 2:
        raise ValueError(f"a text of {num_tokens} tokens has no target; give at least 2 tokens")
    if not 1 <= stride <= length:
        raise ValueError(f"stride {stride} must be at least 1 and at most the length {length}")
    targets = num_tokens - 1
    opening = Window(0, min(length, targets), 0)
    later = [
        Window(start, min(start + length, targets), start + length - stride)
        for start in range(stride, targets - length + stride, stride)
    ]
    return [opening, *later]


def narrowed(windows: Sequence[Window], *, limit: int) -> list[Window]:
    """The same targets, in the same order, by forward passes over at most `limit` tokens.

    Targets among the first `limit` of a window keep its start. Each later one gets a pass of its
    own, over the `limit` tokens that end with its input. Windows within the limit stay as they are.
    """
    views: list[Window] = []
    for window in windows:
        edge = min(window.stop, window.start + limit)
        if window.first < edge:
            views.append(Window(window.start, edge, window.first))
        later = range(max(window.first, edge), window.stop)
        views.extend(Window(index + 1 - limit, index + 1, index) for index in later)
    return views
