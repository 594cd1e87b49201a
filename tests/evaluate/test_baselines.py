import math

import numpy as np
import numpy.typing as npt
import pytest

from andrea_exp.evaluate import baselines as module
from andrea_exp.evaluate.baselines import baselines

TRAIN = np.array([0, 1, 0, 1, 0, 2])
"""Counts 3 2 1; pairs 01 twice, 10 twice, 02 once."""


def test_a_tiny_text_by_hand():
    found = baselines(TRAIN, np.array([0, 1, 2, 0]), vocab=3)
    # Add-one: 4/9, 3/9, 2/9. After 0: three pairs, two kinds; after 1: two pairs, one kind;
    # 2 is followed by nothing.
    after_0 = (2 + 2 * 3 / 9) / (3 + 2)
    after_1 = (0 + 1 * 2 / 9) / (2 + 1)
    after_2 = 4 / 9
    assert found.uniform_nats == pytest.approx(math.log(3))
    assert found.unigram_nats == pytest.approx(-math.log(3 / 9 * 2 / 9 * 4 / 9) / 3)
    assert found.bigram_nats == pytest.approx(-math.log(after_0 * after_1 * after_2) / 3)


def test_the_order_of_training_tokens_reaches_the_bigram_alone():
    validation = np.array([0, 1, 2, 0])
    found = baselines(TRAIN, validation, vocab=3)
    other = baselines(np.sort(TRAIN), validation, vocab=3)
    assert other.unigram_nats == found.unigram_nats
    assert other.bigram_nats != pytest.approx(found.bigram_nats)


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_the_bigrams_probabilities_sum_to_one(first: int):
    total = sum(
        math.exp(-baselines(TRAIN, np.array([first, second]), vocab=4).bigram_nats)
        for second in range(4)
    )
    assert total == pytest.approx(1)


def test_a_text_without_order_gives_the_bigram_no_lead():
    rng = np.random.default_rng(0)
    found = baselines(rng.integers(0, 7, 50_000), rng.integers(0, 7, 5_000), vocab=7)
    assert found.unigram_nats == pytest.approx(math.log(7), abs=1e-3)
    assert found.bigram_nats == pytest.approx(math.log(7), abs=3e-3)


def test_a_chain_gives_the_bigram_everything():
    chain = np.arange(5_000) % 7
    found = baselines(chain, chain, vocab=7)
    assert found.unigram_nats == pytest.approx(math.log(7), abs=1e-3)
    assert found.bigram_nats < 0.01


def test_one_training_token_and_a_large_vocabulary_work():
    found = baselines(np.array([3]), np.array([3, 49_999]), vocab=50_000)
    assert found.bigram_nats == pytest.approx(math.log(50_001))


def test_a_text_without_a_target_is_refused():
    with pytest.raises(ValueError, match="1 validation tokens have no target"):
        baselines(TRAIN, np.array([1]), vocab=3)


def assert_same_lines(found: module.Baselines, expected: module.Baselines):
    assert found.unigram_nats == pytest.approx(expected.unigram_nats, rel=1e-12)
    assert found.bigram_nats == pytest.approx(expected.bigram_nats, rel=1e-12)


TEXT = np.array([0, 3, 1, 1, 2, 3, 0, 0, 1, 3, 2])


@pytest.mark.parametrize("length", [2, 3, 4, 5, 7, 11])
def test_a_text_is_scored_alike_in_chunks(monkeypatch: pytest.MonkeyPatch, length: int):
    whole = baselines(TRAIN, TEXT[:length], vocab=4)
    monkeypatch.setattr(module, "_CHUNK", 3)
    assert_same_lines(baselines(TRAIN, TEXT[:length], vocab=4), whole)


def test_chunks_that_share_no_token_would_be_caught(monkeypatch: pytest.MonkeyPatch):
    whole = baselines(TRAIN, TEXT, vocab=4)

    def apart(tokens: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        return np.split(tokens, [3, 6, 9])

    monkeypatch.setattr(module, "_chunks", apart)
    with pytest.raises(AssertionError):
        assert_same_lines(baselines(TRAIN, TEXT, vocab=4), whole)


def test_the_integer_type_of_a_text_makes_no_difference():
    narrow = TEXT.astype(np.uint8)
    assert baselines(TRAIN, narrow, vocab=4) == baselines(TRAIN, TEXT, vocab=4)
    wide = np.array([300, 511, 300], dtype=np.uint16)  # 300 * 512 needs more than 16 bits
    train = np.array([300, 511] * 5)
    assert baselines(train, wide, vocab=512) == baselines(train, wide.astype(np.int64), vocab=512)
