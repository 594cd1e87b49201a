"""Rows are means over the steps since the last row."""

import math

import pytest

from andrea_exp.train.meter import Meter, Step


def step(loss: float, norm: float = 1.0, *, clipped: bool = False) -> Step:
    return Step(loss_nats=loss, grad_norm=norm, clipped=clipped, lr=0.1, tokens=20)


def test_a_row_is_the_mean_since_the_last_one():
    meter = Meter.zero()
    meter.add(step(3.0, 0.5))
    meter.add(step(1.0, 2.5, clipped=True))
    assert meter.row(step=2, lr=0.1, elapsed_s=4.0) == {
        "step": 2,
        "tokens": 40,
        "train_loss_nats": 2.0,
        "lr": 0.1,
        "grad_norm": 1.5,
        "clipped": 0.5,
        "elapsed_s": 4.0,
        "tokens_per_s": 10.0,
    }
    meter.add(step(7.0))
    row = meter.row(step=3, lr=0.1, elapsed_s=6.0)
    assert (row["train_loss_nats"], row["clipped"], row["tokens"]) == (7.0, 0.0, 60)
    assert row["tokens_per_s"] == 10.0


def test_its_state_is_all_it_needs():
    meter = Meter.zero()
    meter.add(step(3.0))
    again = Meter(**meter.state())
    for one in (meter, again):
        one.add(step(4.0))
    assert meter.row(step=2, lr=0.1, elapsed_s=1.0) == again.row(step=2, lr=0.1, elapsed_s=1.0)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_step_is_finite_if_loss_and_norm_are(wrong: float):
    assert step(1.0).finite
    assert not step(wrong).finite
    assert not step(1.0, wrong).finite
