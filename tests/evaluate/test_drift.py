"""How far rows moved, and which never did."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.drift import Decay, drift

NONE = Decay(kept=1.0, steps=9)
HALF = Decay(kept=0.5, steps=9)


def init() -> Tensor:
    return torch.randn(5, 8, generator=torch.Generator().manual_seed(0))


def test_the_measures_are_those_of_numpy():
    before = init()
    after = before + 0.3 * torch.randn(5, 8, generator=torch.Generator().manual_seed(1))
    found = drift(before, after, decay=NONE)
    one, other = before.double().numpy(), after.double().numpy()
    norms = np.linalg.norm(one, axis=1)
    cosines = (one * other).sum(axis=1) / norms / np.linalg.norm(other, axis=1)
    assert found.relative == pytest.approx(list(np.linalg.norm(other - one, axis=1) / norms))
    assert found.one_minus_cosine == pytest.approx(list(1 - cosines))
    assert found.first_untrained_row is None


def test_a_turned_row_has_a_cosine_and_a_longer_one_none():
    before = torch.tensor([[3.0, 0.0], [3.0, 0.0], [3.0, 0.0]])
    after = torch.tensor([[6.0, 0.0], [0.0, 3.0], [-3.0, 0.0]])
    found = drift(before, after, decay=NONE)
    assert found.relative == pytest.approx([1, math.sqrt(2), 2])
    assert found.one_minus_cosine == pytest.approx([0, 1, 2])


def test_without_decay_untrained_means_the_same_bits():
    before = init()
    after = before + 1
    after[3:] = before[3:]
    assert drift(before, after, decay=NONE).first_untrained_row == 3
    after[3, 0] = torch.nextafter(after[3, 0], torch.tensor(math.inf))
    assert drift(before, after, decay=NONE).first_untrained_row == 4


def test_with_decay_untrained_means_at_the_floor():
    before = init()
    after = before + 1
    after[2:] = 0.5 * before[2:]
    found = drift(before, after, decay=HALF)
    assert found.decay_floor == 0.5
    assert found.first_untrained_row == 2
    assert found.relative[2:] == pytest.approx([0.5] * 3, rel=1e-6)


@pytest.mark.parametrize("change", ["longer", "turned", "as before"])
def test_a_row_that_left_the_floor_was_trained(change: str):
    before = init()
    after = 0.5 * before
    after[0] = {
        "longer": 0.5002 * before[0],
        "turned": 0.5 * before[0].roll(1),
        "as before": before[0],  # whoever kept its bits did so without decay, too
    }[change]
    expected = 0 if change == "as before" else 1
    assert drift(before, after, decay=HALF).first_untrained_row == expected


def test_a_row_that_began_at_zero_has_no_ratio():
    before = init()
    before[1] = 0
    after = before + 1
    found = drift(before, after, decay=NONE)
    assert [found.relative[1], found.one_minus_cosine[1]] == [None, None]
    assert None not in found.relative[2:]
