from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.evaluate.segments import Sample, sample


def scored(found: Sample, *, length: int, stride: int) -> list[int]:
    windows = found.windows(length=length, stride=stride)
    return [index for window in windows for index in range(window.first, window.stop)]


@given(st.integers(1, 30), st.integers(0, 900), st.integers(1, 500))
def test_segments_are_apart_and_inside_the_text(longest: int, extra: int, targets: int):
    tokens = longest + 1 + extra
    found = sample(tokens, longest=longest, targets=targets)
    assert found.starts[0] >= 0
    assert found.starts[-1] + found.size <= tokens - 1
    gaps = [after - before for before, after in pairwise(found.starts)]
    assert all(gap >= found.size for gap in gaps)
    assert max(gaps, default=0) - min(gaps, default=0) <= 1
    room = (tokens - 1) // found.size * found.size
    assert min(targets, room) <= found.num_targets < targets + found.size


@given(st.integers(1, 40), st.integers(1, 60), st.integers(1, 300))
def test_a_part_is_a_choice_of_the_same_segments(count: int, size: int, targets: int):
    whole = Sample(tuple(range(0, count * size, size)), size)
    part = whole.part(targets)
    assert set(part.starts) <= set(whole.starts)
    assert len(set(part.starts)) == len(part.starts)
    assert part.num_targets >= min(targets, whole.num_targets)


def test_a_part_is_spread_evenly():
    assert Sample(tuple(range(12)), 1).part(3).starts == (2, 6, 10)


@pytest.mark.parametrize(("length", "stride"), [(3, 3), (6, 6), (6, 2), (12, 12), (12, 5)])
def test_every_length_and_protocol_scores_the_same_targets(length: int, stride: int):
    found = sample(200, longest=12, targets=70)
    expected = [start + index for start in found.starts for index in range(24)]
    assert scored(found, length=length, stride=stride) == expected


def test_a_text_without_room_for_two_windows_is_one_segment():
    assert sample(16, longest=10, targets=1000) == Sample((0,), 15)


def test_a_text_below_one_window_is_refused():
    with pytest.raises(ValueError, match="10 tokens hold no window of 10"):
        sample(10, longest=10, targets=5)
