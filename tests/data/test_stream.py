"""The stream of training batches."""

import sys
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

from andrea_exp.data.base import Batch, Data
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.document import Document
from andrea_exp.data.noise import Noise
from andrea_exp.data.stream import BatchStream
from andrea_exp.tokenizer.bytes import BytesConfig

SENTENCE = "the quick brown fox jumps over the lazy dog; pack my box with five dozen jugs"

corpus = Corpus.build(
    train=[Document(name="train", text=SENTENCE)],
    validation=[Document(name="validation", text="sphinx of black quartz")],
    tokenizer=BytesConfig(name="bytes"),
    context=7,
)
noise = Noise(vocab=19, num_tokens=50)


def stream(data: Data = corpus, *, seed: int = 0, num_batches: int = 6) -> BatchStream:
    return BatchStream(data=data, seed=seed, batch_size=3, context=7, num_batches=num_batches)


def equal(batch: Batch, other: Batch) -> bool:
    return all(part.equal(twin) for part, twin in zip(batch, other, strict=True))


def assert_only_the_number_matters(batch_of: Callable[[int], Batch]):
    forward = {k: batch_of(k) for k in range(6)}
    backward = {k: batch_of(k) for k in reversed(range(6))}
    assert all(equal(forward[k], backward[k]) for k in range(6))


@pytest.mark.parametrize("data", [corpus, noise])
def test_a_batch_does_not_depend_on_those_asked_for_before(data: Data):
    assert_only_the_number_matters(stream(data).__getitem__)


def test_one_generator_for_all_batches_would_be_caught():
    rng = np.random.default_rng(0)
    with pytest.raises(AssertionError):
        assert_only_the_number_matters(lambda _: noise.draw(rng, count=3, context=7))


@pytest.mark.parametrize("data", [corpus, noise])
def test_other_numbers_and_other_seeds_give_other_batches(data: Data):
    batches = [stream(data, seed=seed)[k] for seed in (0, 1, 2) for k in range(6)]
    drawn = {tuple(batch.inputs.ravel().tolist()) for batch in batches}
    assert len(drawn) == len(batches)


def test_the_length_of_the_stream_does_not_change_a_batch():
    assert equal(stream(num_batches=6)[5], stream(num_batches=60)[5])


@pytest.mark.parametrize("outside", [-1, 6])
def test_a_batch_outside_the_run_is_an_index_error(outside: int):
    assert len(stream()) == 6
    with pytest.raises(IndexError, match=rf"batch {outside} is not one of 0\.\.5"):
        stream()[outside]


@pytest.mark.parametrize("data", [corpus, noise])
@pytest.mark.parametrize("count", [1, 3])
def test_shards_are_the_rows_of_the_batch(data: Data, count: int):
    whole = stream(data)
    shards = [whole.shard(rank, count=count) for rank in range(count)]
    for k in range(6):
        parts = zip(*(shard[k] for shard in shards), strict=True)
        assert equal(Batch(*(torch.cat(part) for part in parts)), whole[k])


def test_rows_that_cannot_be_dealt_out_are_refused():
    with pytest.raises(ValueError, match="3 rows of a batch for 2 processes"):
        stream().shard(0, count=2)


def test_a_loader_in_the_training_process_gives_the_batches_in_order():
    loaded = list(DataLoader(stream(), batch_size=None))
    assert len(loaded) == 6
    assert all(equal(batch, stream()[k]) for k, batch in enumerate(loaded))


def assert_two_workers_agree(data: Data, *, start_method: str):
    loader = DataLoader(
        stream(data), batch_size=None, num_workers=2, multiprocessing_context=start_method
    )
    loaded = list(loader)
    assert len(loaded) == 6
    assert all(equal(batch, stream(data)[k]) for k, batch in enumerate(loaded))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot fork")
@pytest.mark.parametrize("data", [corpus, noise])
def test_two_forked_workers_give_the_batches_in_order(data: Data):
    assert_two_workers_agree(data, start_method="fork")


@pytest.mark.slow
def test_two_spawned_workers_give_the_batches_in_order():
    assert_two_workers_agree(corpus, start_method="spawn")
