import functools
from typing import Any

import numpy as np
import pytest

from andrea_exp.data.base import DataConfig
from andrea_exp.data.grammar import Grammar
from andrea_exp.data.noise import NoiseConfig
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.lengths import block_sample, floor_at_trained, lengths
from andrea_exp.evaluate.protocol import Window, block, sliding
from andrea_exp.model.decoder import Decoder
from tests import options

T = 8


@functools.cache
def grammar() -> Grammar:
    config = options.typed(DataConfig, options.values("data", "grammar"), validation_tokens=1500)
    data = config.load(tokenizer=None, context=T)
    assert isinstance(data, Grammar)
    return data


def config(**changes: Any) -> EvaluationConfig:
    small = {"block_targets": 256, "sliding_targets": 64, "anchors": 6, "position_buckets": 4}
    plain = options.values("evaluation", "standard") | small
    return options.typed(EvaluationConfig, plain, **changes)


def built() -> Decoder:
    return options.decoder(
        options.model(context=T),
        position=options.position("alibi"),
        embedding=options.embedding("table"),
        output=options.output("tied"),
        used_vocab=45,
    )


def one_by_one(data: Grammar, windows: list[Window]) -> list[float]:
    """Each target by a window of its own that ends with it."""
    text = data.validation()
    return [
        data.optimal_nats(text[None, window.start : index + 2])[0, -1]
        for window in windows
        for index in range(window.first, window.stop)
    ]


def assert_floor(windows: list[Window], expected: list[float]):
    data = grammar()
    found = Floor(data, data.validation()).nats(windows)
    assert found is not None
    assert found.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("windows", [block(61, length=7), sliding(61, length=9, stride=4)])
def test_a_target_is_predicted_from_the_tokens_of_its_window(windows: list[Window]):
    assert_floor(windows, one_by_one(grammar(), windows))


def test_a_predictor_that_sees_a_token_more_would_be_caught():
    windows = block(301, length=5)
    more = [window._replace(start=max(0, window.start - 1)) for window in windows]
    with pytest.raises(AssertionError):
        assert_floor(windows, one_by_one(grammar(), more))


def test_data_without_a_predictor_have_no_floor():
    data = NoiseConfig(name="noise", batch_size=3, vocab=45, validation_tokens=900).load(
        tokenizer=None, context=T
    )
    assert Floor(data, data.validation()).nats([Window(0, 3, 0)]) is None
    rows = lengths(
        built(), data.validation(), config=config(), floor=Floor(data, data.validation())
    )
    assert {row.floor_nats for row in rows} == {None}


def test_a_row_has_the_floor_of_its_own_targets_and_windows():
    data = grammar()
    text = data.validation()
    rows = lengths(built(), text, config=config(), floor=Floor(data, text))
    targets = block_sample(len(text), context=T, config=config())
    for row in rows:
        if row.protocol != "block":
            continue
        windows = targets.windows(length=row.length, stride=row.length)
        expected = one_by_one(data, windows)
        assert row.floor_nats == pytest.approx(np.mean(expected), abs=1e-12)
        places = np.concatenate([np.arange(w.first, w.stop) - w.start for w in windows])
        for bucket in row.per_position or []:
            inside = (places >= bucket.start) & (places < bucket.stop)
            assert bucket.floor_nats == pytest.approx(np.array(expected)[inside].mean(), abs=1e-12)
    trained = [row.floor_nats for row in rows if (row.length, row.protocol) == (T, "block")]
    assert [floor_at_trained(rows)] == trained


def test_the_floor_falls_with_the_length_and_no_model_is_below_it():
    data = grammar()
    text = data.validation()
    rows = lengths(built(), text, config=config(), floor=Floor(data, text))
    pairs = [(row.loss_nats or 0, row.floor_nats or 9) for row in rows]
    assert all(loss > floor for loss, floor in pairs)
    floors = [row.floor_nats or 9 for row in rows if row.protocol == "block"]
    assert floors == sorted(floors, reverse=True)


def test_rows_without_a_predictor_have_no_floor():
    text = np.random.default_rng(5).integers(0, 19, 900)
    rows = lengths(built(), text, config=config())
    assert {row.floor_nats for row in rows} == {None}
    assert floor_at_trained(rows) is None
