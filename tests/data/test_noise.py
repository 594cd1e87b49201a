"""Uniform ids."""

import math

import numpy as np
import numpy.typing as npt
import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.noise import Noise, NoiseConfig
from andrea_exp.tokenizer.bytes import BytesConfig

VOCAB = 17
Ids = npt.NDArray[np.int64]


def noise(*, vocab: int = VOCAB, validation_tokens: int = 5000) -> Noise:
    config = NoiseConfig(
        name="noise", batch_size=3, vocab=vocab, validation_tokens=validation_tokens
    )
    return config.load(tokenizer=None, context=11)


def trained_on(data: Noise) -> Ids:
    batch = data.draw(np.random.default_rng(4), count=500, context=11)
    return batch.inputs.numpy().ravel()


def assert_equally_frequent(counts: Ids):
    """By chi-square, whose mean is its degrees of freedom k and whose variance is 2k."""
    expected = counts.sum() / len(counts)
    freedom = len(counts) - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < freedom + 4 * math.sqrt(2 * freedom)


def assert_uniform(ids: Ids):
    counts = np.bincount(ids, minlength=VOCAB)
    assert len(counts) == VOCAB
    assert_equally_frequent(counts)


def assert_independent(ids: Ids):
    assert_equally_frequent(np.bincount(VOCAB * ids[:-1] + ids[1:], minlength=VOCAB**2))


def test_every_id_is_equally_likely_whatever_went_before():
    data = noise()
    for ids in (trained_on(data), data.training_sample(), data.validation()):
        assert_uniform(ids)
        assert_independent(ids)


def test_noise_without_its_last_id_would_be_caught():
    with pytest.raises(AssertionError):
        assert_uniform(noise(vocab=VOCAB - 1).validation())


def test_noise_that_repeats_itself_would_be_caught():
    with pytest.raises(AssertionError):
        assert_independent(np.repeat(noise().validation(), 2))


def test_the_target_of_a_token_is_the_next_one():
    batch = noise().draw(np.random.default_rng(4), count=7, context=11)
    assert batch.inputs.shape == batch.targets.shape == batch.weights.shape == (7, 11)
    assert batch.inputs[:, 1:].equal(batch.targets[:, :-1])
    assert bool((batch.weights == 1).all())


def test_the_floor_is_the_entropy_of_a_uniform_draw():
    entropy = -sum(1 / VOCAB * math.log(1 / VOCAB) for _ in range(VOCAB))
    assert noise().floor_nats == pytest.approx(entropy, rel=1e-12)


def test_validation_is_the_same_in_every_run_and_never_the_training_sample():
    assert noise().validation().tolist() == noise().validation().tolist()
    assert noise().validation().tolist() != noise().training_sample().tolist()
    assert len(noise().validation()) == 5000


def test_noise_has_ids_of_its_own_that_never_repeat():
    data = noise()
    assert NoiseConfig.has_own_ids()
    assert (data.vocab, data.tokenizer, data.train_tokens) == (VOCAB, None, None)


def test_the_fingerprint_tells_noise_of_another_kind():
    alike = [noise(), noise(vocab=18), noise(validation_tokens=5001)]
    assert len({data.fingerprint for data in alike}) == 3
    assert noise().fingerprint == noise().fingerprint


def test_a_tokenizer_beside_noise_is_refused():
    config = NoiseConfig(name="noise", batch_size=3, vocab=VOCAB, validation_tokens=5000)
    assert config.known_size() == VOCAB
    with pytest.raises(Refusal, match="leave out tokenizer=bytes"):
        config.load(tokenizer=BytesConfig(name="bytes"), context=11)


def test_fewer_validation_ids_than_a_window_are_refused_with_both_numbers():
    with pytest.raises(Refusal, match=r"validation_tokens=11 is fewer than the 12 "):
        noise(validation_tokens=11)
    assert len(noise(validation_tokens=12).validation()) == 12


def test_a_vocabulary_of_one_is_refused():
    with pytest.raises(ValueError, match="vocab must be at least 2, got 1"):
        noise(vocab=1)
