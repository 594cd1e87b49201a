import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.evaluate.protocol import Window, block, narrowed, sliding


def scored(windows: list[Window]) -> list[int]:
    """Index of the input of every scored target, in order."""
    return [index for window in windows for index in range(window.first, window.stop)]


@pytest.mark.parametrize(("stride", "count"), [(16, 7), (8, 12), (4, 22), (1, 84)])
def test_a_hundred_tokens_at_length_16_give_the_known_number_of_windows(stride: int, count: int):
    windows = sliding(100, length=16, stride=stride)
    assert len(windows) == count
    assert len(scored(windows)) == 99


def test_block_is_the_known_number_of_windows():
    windows = block(100, length=16)
    assert len(windows) == 7
    assert len(scored(windows)) == 99
    assert [window.stop - window.start for window in windows] == [16] * 6 + [3]


def test_a_stride_of_the_length_is_block():
    assert sliding(100, length=16, stride=16) == block(100, length=16)
    assert sliding(100, length=16, stride=15) != block(100, length=16)


@st.composite
def texts(draw: st.DrawFn) -> tuple[int, int, int]:
    length = draw(st.integers(1, 40))
    return draw(st.integers(2, 200)), length, draw(st.integers(1, length))


@given(texts())
def test_every_target_is_scored_exactly_once(text: tuple[int, int, int]):
    tokens, length, stride = text
    windows = sliding(tokens, length=length, stride=stride)
    assert scored(windows) == list(range(tokens - 1))
    assert len(windows) == 1 + max(0, math.ceil((tokens - 1 - length) / stride))
    assert all(0 < window.stop - window.start <= length for window in windows)


@given(texts())
def test_later_targets_have_seen_at_least_length_minus_stride_tokens_before(
    text: tuple[int, int, int],
):
    tokens, length, stride = text
    for window in sliding(tokens, length=length, stride=stride)[1:]:
        assert window.first - window.start == length - stride


@given(texts(), st.integers(1, 50))
def test_narrowing_keeps_every_target_in_its_place(text: tuple[int, int, int], limit: int):
    tokens, length, stride = text
    windows = sliding(tokens, length=length, stride=stride)
    views = narrowed(windows, limit=limit)
    assert scored(views) == scored(windows)
    assert all(view.stop - view.start <= limit for view in views)
    if limit >= length:
        assert views == windows


def test_narrowing_shows_each_late_target_the_full_limit():
    assert narrowed([Window(10, 16, 11)], limit=4) == [
        Window(10, 14, 11),
        Window(11, 15, 14),
        Window(12, 16, 15),
    ]


@pytest.mark.parametrize(("tokens", "stride"), [(1, 4), (9, 0), (9, 6)])
def test_impossible_windows_are_refused_with_their_numbers(tokens: int, stride: int):
    with pytest.raises(ValueError, match=str(tokens if tokens < 2 else stride)):
        sliding(tokens, length=5, stride=stride)
