import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.evaluate.score import Scores
from andrea_exp.evaluate.tails import anchors, rise, tail_means, tail_windows


@given(st.integers(1, 20), st.tuples(st.integers(1, 40), st.integers(0, 400)), st.integers(2, 30))
def test_anchors_leave_room_and_their_tails_do_not_overlap(
    tail: int, lengths: tuple[int, int], count: int
):
    more, extra = lengths
    longest = tail + more
    tokens = longest + 1 + extra
    ends = anchors(tokens, longest=longest, tail=tail, count=count)
    assert ends[0] == longest
    assert ends[-1] <= tokens - 1
    assert len(ends) <= count
    assert all(after - before >= tail for before, after in pairwise(ends))


def test_anchors_reach_from_the_first_possible_place_to_the_last():
    assert anchors(101, longest=20, tail=4, count=5) == [20, 40, 60, 80, 100]


def test_windows_of_every_length_score_the_same_tail():
    ends = [20, 33]
    tails = [
        [list(range(window.first, window.stop)) for window in tail_windows(ends, length=n, tail=3)]
        for n in (3, 8, 20)
    ]
    assert tails[0] == tails[1] == tails[2] == [[17, 18, 19], [30, 31, 32]]
    assert [window.start for window in tail_windows(ends, length=8, tail=3)] == [12, 25]


def test_the_rise_is_a_paired_mean_with_its_standard_error():
    # By hand: mean .0245, standard deviation .01721337.
    base = torch.tensor([1.0, 5.0, 2.0, 9.0, 3.0, 4.0], dtype=torch.float64)
    change = torch.tensor([0.021, 0.034, -0.004, 0.047, 0.019, 0.030], dtype=torch.float64)
    found = rise(base + change, at_trained=base)
    assert found.nats == pytest.approx(0.0245)
    assert found.se == pytest.approx(0.01721337 / math.sqrt(6), rel=1e-6)
    # An unpaired error would see the spread between places.
    assert found.se is not None
    assert found.se < float(base.std()) / math.sqrt(6) / 10


def test_one_anchor_has_no_standard_error():
    one = torch.ones(1, dtype=torch.float64)
    assert rise(one, at_trained=one).se is None


def test_tail_means_are_taken_anchor_by_anchor():
    nats = torch.tensor([1.0, 2.0, 6.0, 10.0, 20.0, 60.0])
    scores = Scores(nats, torch.ones(6, dtype=torch.bool), torch.arange(6))
    assert tail_means(scores, tail=3).tolist() == [3.0, 30.0]
