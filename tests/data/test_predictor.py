"""The best predictor, beside sums over all sentences that a window can be a piece of."""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from andrea_exp.data.chain import Chain, Step
from andrea_exp.data.grammar_rules import steps
from andrea_exp.data.grammar_words import Lexicon
from andrea_exp.data.predictor import Predictor
from tests.data.sentences import SHARES, SMALL, TINY, Reader

Losses = npt.NDArray[np.float64]


def chain(lexicon: Lexicon) -> Chain:
    return Chain(steps(lexicon, SHARES), words=lexicon.words)


@pytest.fixture(scope="module")
def small() -> Reader:
    return Reader(SMALL)


@pytest.fixture(scope="module")
def tiny() -> Reader:
    return Reader(TINY)


@pytest.fixture(scope="module")
def expected(small: Reader) -> Losses:
    return by_sentences(small, pieces())


def pieces() -> npt.NDArray[np.int64]:
    language = chain(SMALL)
    return language.word[language.walk(np.random.default_rng(1), count=12, length=11)]


def by_sentences(reader: Reader, windows: npt.NDArray[np.int64]) -> Losses:
    """-log of P(window up to the target) / P(window before it)."""
    texts = [tuple(SMALL.words[number] for number in window) for window in windows.tolist()]
    chances = [[reader.window(text[: end + 1]) for end in range(len(text))] for text in texts]
    return -np.diff(np.log(chances), axis=1)


def assert_best(found: Losses, expected: Losses):
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_a_target_costs_what_all_texts_around_its_window_say(expected: Losses):
    assert_best(Predictor(chain(SMALL)).losses(pieces()), expected)


def test_a_predictor_that_begins_in_every_state_alike_would_be_caught(expected: Losses):
    broken = chain(SMALL)
    broken.stationary = np.full(broken.num_states, 1 / broken.num_states)
    with pytest.raises(AssertionError):
        assert_best(Predictor(broken).losses(pieces()), expected)


def test_a_predictor_that_knows_what_stood_before_the_window_would_be_caught(expected: Losses):
    language = chain(SMALL)
    walks = language.walk(np.random.default_rng(1), count=12, length=11)
    assert (language.word[walks] == pieces()).all()
    with pytest.raises(AssertionError):
        assert_best(language.nats[walks][:, 1:], expected)


def test_a_language_without_agreement_would_be_caught():
    loose = by_sentences(Reader(SMALL, agreement=False), pieces()[:3])
    with pytest.raises(AssertionError):
        assert_best(Predictor(chain(SMALL)).losses(pieces()[:3]), loose)


def continuations(reader: Reader, length: int) -> Iterator[tuple[tuple[str, ...], float]]:
    """Every window of `length` words that can occur, with its probability."""
    texts: list[tuple[tuple[str, ...], float]] = [((), 1.0)]
    for _ in range(length):
        longer = [(*text, word) for text, _ in texts for word in TINY.words]
        texts = [(text, chance) for text in longer if (chance := reader.window(text)) > 0]
    yield from texts


def entropy(reader: Reader, length: int) -> float:
    return -sum(chance * math.log(chance) for _, chance in continuations(reader, length))


def test_all_windows_together_have_probability_one(tiny: Reader):
    assert sum(chance for _, chance in continuations(tiny, 4)) == pytest.approx(1, abs=1e-12)


def assert_expected(found: Losses, reader: Reader):
    """H(word t+1 | the t+1 words before it) as a difference of entropies of whole windows."""
    entropies = [entropy(reader, length) for length in range(1, 2 + len(found))]
    assert found == pytest.approx(np.diff(entropies), abs=1e-11)


def test_the_expected_loss_by_position_is_that_of_all_windows(tiny: Reader):
    assert_expected(Predictor(chain(TINY)).by_position(6), tiny)


def test_the_expected_loss_of_the_next_position_would_be_caught(tiny: Reader):
    with pytest.raises(AssertionError):
        assert_expected(Predictor(chain(TINY)).by_position(7)[1:], tiny)


def test_the_expected_loss_falls_to_the_entropy_rate_and_never_rises():
    language = chain(SMALL)
    expected = Predictor(language).by_position(300)
    assert (np.diff(expected) <= 1e-14).all()
    assert expected[0] > 1.2 * language.entropy_rate
    assert expected[-1] == pytest.approx(language.entropy_rate, abs=1e-12)


def test_more_words_before_a_target_never_hurt_on_average():
    windows = pieces()
    predictor = Predictor(chain(SMALL))
    long, short = predictor.losses(windows)[:, 5:], predictor.losses(windows[:, 5:])
    assert long.mean() < short.mean()


def test_a_window_that_is_no_text_is_refused_with_its_place():
    texts = ("the cat sees the", "the cat sees near")
    windows = [[SMALL.words.index(word) for word in text.split()] for text in texts]
    with pytest.raises(ValueError, match=f"window 1 is no text .* word {windows[1][3]} at 3 "):
        Predictor(chain(SMALL)).losses(np.array(windows))


def test_a_chain_that_is_never_in_doubt_costs_its_own_steps():
    language = Chain(
        [
            Step(("a",), "x", "letter", ("b",), 0.3),
            Step(("a",), "y", "letter", ("b",), 0.7),
            Step(("b",), "z", "letter", ("a",), 1.0),
        ],
        words=("x", "y", "z"),
    )
    losses = Predictor(language).losses(np.array([[0, 2, 1, 2], [2, 0, 2, 0]]))
    expected = [[0, -math.log(0.7), 0], [-math.log(0.3), 0, -math.log(0.3)]]
    assert losses == pytest.approx(np.array(expected), abs=1e-12)
