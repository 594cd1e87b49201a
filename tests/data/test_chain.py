import math

import numpy as np
import pytest

from andrea_exp.data.chain import Chain, Step

WEATHER = [
    Step(("dry",), "sun", "day", ("dry",), 0.75),
    Step(("dry",), "rain", "day", ("wet",), 0.25),
    Step(("wet",), "rain", "day", ("wet",), 0.4),
    Step(("wet",), "storm", "night", ("dry",), 0.6),
]
WORDS = ("rain", "storm", "sun")


def weather() -> Chain:
    return Chain(WEATHER, words=WORDS)


def test_a_state_is_as_frequent_as_the_balance_of_steps_says():
    # dry * .25 = wet * .6, so dry : wet = 12 : 5.
    assert weather().stationary == pytest.approx([12 / 17, 5 / 17], abs=1e-14)


def test_the_entropy_rate_is_the_mean_entropy_of_a_step():
    dry = -0.75 * math.log(0.75) - 0.25 * math.log(0.25)
    wet = -0.4 * math.log(0.4) - 0.6 * math.log(0.6)
    assert weather().entropy_rate == pytest.approx((12 * dry + 5 * wet) / 17, rel=1e-13)


def test_a_walk_follows_the_steps_from_a_random_state():
    chain = weather()
    steps = chain.walk(np.random.default_rng(3), count=700, length=31)
    assert steps.shape == (700, 31)
    assert (chain.source[steps[:, 1:]] == chain.target[steps[:, :-1]]).all()
    expected = chain.stationary[chain.source] * chain.probability
    for column in (steps[:, 0], steps[:, 30]):
        found = np.bincount(column, minlength=4) / 700
        error = np.sqrt(expected * (1 - expected) / 700)
        assert (abs(found - expected) < 4 * error).all()


def test_a_walk_is_a_function_of_the_generators_state():
    walks = [weather().walk(np.random.default_rng(5), count=3, length=7) for _ in range(2)]
    assert walks[0].tolist() == walks[1].tolist()
    assert walks[0].tolist() != weather().walk(np.random.default_rng(6), count=3, length=7).tolist()


def test_two_steps_that_say_one_word_are_refused():
    twice = [*WEATHER[:2], WEATHER[2], WEATHER[3]._replace(word="rain")]
    with pytest.raises(ValueError, match=r"two steps out of \('wet',\) say one word"):
        Chain(twice, words=WORDS)


@pytest.mark.parametrize("probability", [0.5, 0.7])
def test_steps_that_do_not_add_up_to_one_are_refused(probability: float):
    wrong = [*WEATHER[:3], WEATHER[3]._replace(probability=probability)]
    with pytest.raises(ValueError, match=r"out of \('wet',\) have probabilities that add up to"):
        Chain(wrong, words=WORDS)


def test_a_step_that_never_happens_is_refused():
    never = [*WEATHER[:2], WEATHER[2]._replace(probability=1.0), WEATHER[3]._replace(probability=0)]
    with pytest.raises(ValueError, match="must be positive"):
        Chain(never, words=WORDS)


def test_a_chain_that_swings_for_ever_has_shares_too():
    swing = [
        Step(("middle",), "left", "side", ("left",), 0.3),
        Step(("middle",), "right", "side", ("right",), 0.7),
        Step(("left",), "back", "side", ("middle",), 1.0),
        Step(("right",), "back", "side", ("middle",), 1.0),
    ]
    chain = Chain(swing, words=("back", "left", "right"))
    assert chain.stationary == pytest.approx([0.5, 0.15, 0.35], abs=1e-14)
