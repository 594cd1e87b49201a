"""The learning rate is a function of the step alone."""

import math

import pytest
import torch

from andrea_exp.optimizer.schedule import ScheduleConfig, Shape


def schedule(shape: Shape, **changes: float) -> ScheduleConfig:
    values = {"warmup_steps": 4, "decay_from": 0.5, "final_fraction": 0.1} | changes
    return ScheduleConfig(
        shape=shape,
        warmup_steps=int(values["warmup_steps"]),
        decay_from=values["decay_from"],
        final_fraction=values["final_fraction"],
    )


def curve(config: ScheduleConfig, max_steps: int) -> list[float]:
    return [config.multiple(step, max_steps=max_steps) for step in range(max_steps)]


# .55 +- .45 cos, with cos(pi/8) = sqrt(2 + sqrt 2) / 2, cos(pi/4) = sqrt(2) / 2 and
# cos(3 pi/8) = sqrt(2 - sqrt 2) / 2.
FALL = [1, 0.96574579, 0.86819805, 0.72220754, 0.55, 0.37779246, 0.23180195, 0.13425421, 0.1]
COSINE = [0.25, 0.5, 0.75, 1, *FALL]
LINEAR = [0.25, 0.5, 0.75, 1, 1, 1, 1, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1]


@pytest.mark.parametrize(
    ("shape", "golden"),
    [
        (Shape.constant, [0.25, 0.5, 0.75] + 10 * [1.0]),
        (Shape.cosine, COSINE),
        (Shape.linear, LINEAR),
    ],
)
def test_each_shape_gives_its_golden_curve(shape: Shape, golden: list[float]):
    assert curve(schedule(shape), 13) == pytest.approx(golden, abs=1e-8)


@pytest.mark.parametrize("shape", [Shape.cosine, Shape.linear])
def test_another_last_step_does_not_give_the_same_curve(shape: Shape):
    assert curve(schedule(shape), 14)[:13] != pytest.approx(curve(schedule(shape), 13), abs=1e-8)


def test_cosine_is_that_of_torch():
    weight = torch.nn.Parameter(torch.zeros(1))
    reference = torch.optim.SGD([weight], lr=1.0)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(reference, T_max=11, eta_min=0.25)
    expected: list[float] = []
    for _ in range(12):
        expected.append(reference.param_groups[0]["lr"])
        reference.step()
        falling.step()
    ours = curve(schedule(Shape.cosine, warmup_steps=0, final_fraction=0.25), 12)
    assert ours == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("shape", list(Shape))
def test_no_step_is_above_the_peak_and_none_is_at_zero_unless_asked(shape: Shape):
    for warmup in (0, 1, 5, 13):
        for value in curve(schedule(shape, warmup_steps=warmup, final_fraction=0.2), 13):
            assert 0 < value <= 1


def test_linear_from_the_start_falls_from_the_peak_to_zero_in_equal_steps():
    config = schedule(Shape.linear, warmup_steps=0, decay_from=0.0, final_fraction=0.0)
    assert curve(config, 5) == [1, 0.75, 0.5, 0.25, 0]


def test_linear_that_never_falls_is_constant():
    config = schedule(Shape.linear, decay_from=1.0)
    assert curve(config, 13)[:12] == curve(schedule(Shape.constant), 13)[:12]


def test_one_step_alone_has_the_peak():
    for shape in Shape:
        assert schedule(shape, warmup_steps=0).multiple(0, max_steps=1) == 1


def test_a_warm_up_that_would_not_end_is_refused_with_both_numbers():
    config = schedule(Shape.cosine, warmup_steps=30)
    config.check(max_steps=30)
    with pytest.raises(ValueError, match=r"warmup_steps=30 exceeds trainer\.max_steps=29"):
        config.check(max_steps=29)


@pytest.mark.parametrize("field", ["warmup_steps", "decay_from", "final_fraction"])
def test_numbers_outside_their_range_are_refused(field: str):
    for wrong in (-1, math.inf):
        with pytest.raises((ValueError, OverflowError)):
            schedule(Shape.cosine, **{field: wrong})
