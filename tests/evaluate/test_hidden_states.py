import dataclasses
import functools
import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.hidden_states import HiddenLayer, HiddenMean, Moments, hidden_mean
from andrea_exp.evaluate.input_norms import input_norms
from andrea_exp.evaluate.panel import panel
from andrea_exp.model.decoder import Decoder
from tests import options
from tests.evaluate.test_floor import config

VOCAB, T = 19, 7
SMOOTH = ("adjacent_cosine", "centred_adjacent_cosine", "d2_over_d1", "effective_rank")
TEXT = np.random.default_rng(5).integers(VOCAB, size=900)


def built(position: str, **changes: Any) -> Decoder:
    plain = changes.pop("embedding", options.embedding("table", std=0.5))
    return options.decoder(
        options.model(**changes),
        position=options.position(position),
        embedding=options.small(plain),
        output=options.output("tied"),
    ).double()


def measured(model: Decoder, **changes: Any) -> HiddenMean:
    settings = config(**{"hidden_windows": 30} | changes)
    return hidden_mean(model, TEXT, config=settings, init=input_norms(model))


def windows(count: int) -> Tensor:
    """Windows in the middle of their equal shares of the text, by hand."""
    share = (len(TEXT) - 1) / count
    starts = [math.floor((index + 0.5) * share - T / 2) for index in range(count)]
    return torch.from_numpy(np.stack([TEXT[start : start + T] for start in starts]))


@pytest.mark.parametrize("position", options.names("position"))
def test_every_scheme_has_a_record_of_every_layer(position: str):
    found = measured(built(position))
    assert [layer.layer for layer in found.layers] == ["embedding", "block 1", "block 2", "head"]
    assert found.windows == 30
    assert all(len(layer.offset) == T for layer in found.layers)
    assert json.dumps(dataclasses.asdict(found), allow_nan=False)


def by_hand(model: Decoder, layer: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Mean states, share of variance and offsets, with everything in memory."""
    with torch.no_grad():
        states = model.states(windows(30))[layer].numpy()
    means = states.mean(axis=0)
    spread = states - states.mean(axis=(0, 1))
    total = (spread**2).sum(axis=-1).mean()
    away = means - means.mean(axis=0)
    share = (away**2).sum(axis=-1).mean() / total
    return means, share, np.sqrt((away**2).sum(axis=-1) / total)


def assert_layers(found: HiddenMean, model: Decoder):
    for index, layer in enumerate(found.layers):
        means, share, offset = by_hand(model, index)
        smooth = panel(torch.from_numpy(means))
        for key in SMOOTH:
            assert getattr(layer, key) == pytest.approx(getattr(smooth, key), rel=1e-9)
        assert layer.position_share == pytest.approx(share, rel=1e-9)
        assert layer.offset == pytest.approx(offset.tolist(), rel=1e-9)


@pytest.mark.parametrize("position", ["learned", "rope_half"])
def test_running_sums_are_the_means_over_all_windows_however_they_are_batched(position: str):
    model = built(position)
    for batch_tokens in (1, 4 * T, 10**6):
        assert_layers(measured(model, batch_tokens=batch_tokens), model)


def test_a_batch_left_out_would_be_caught(monkeypatch: pytest.MonkeyPatch):
    model, add = built("learned"), Moments.add
    calls: list[Tensor] = []

    def forgetful(moments: Moments, states: Tensor) -> None:
        calls.append(states)
        if len(calls) != 5:
            add(moments, states)

    monkeypatch.setattr(Moments, "add", forgetful)
    with pytest.raises(AssertionError):
        assert_layers(measured(model, batch_tokens=10 * T), model)


def of(states: Tensor) -> HiddenLayer:
    moments = Moments(like=states)
    moments.add(states)
    return moments.record("it")


def test_states_that_only_the_position_decides_are_its_share_entirely():
    rows = torch.randn(T, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = of(rows.expand(40, T, 12))
    assert found.position_share == pytest.approx(1)
    assert found.noise_share == pytest.approx(0, abs=1e-9)
    assert np.mean(np.square(found.offset)) == pytest.approx(1)


def known(values: Iterable[float | None]) -> list[float]:
    found = list(values)
    assert None not in found
    return [value for value in found if value is not None]


@functools.cache
def noise(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, T, 12, generator=generator, dtype=torch.float64)


def test_states_without_any_position_have_a_share_that_is_all_noise():
    found = [of(noise(50, seed)) for seed in range(40)]
    shares = known(each.noise_share for each in found)
    error = float(np.std(shares)) / math.sqrt(len(shares))
    assert np.mean(shares) == pytest.approx(1, abs=4 * error + 0.02)  # a mean of ratios
    assert 4 * error < 0.15
    expected = (T - 1) / (50 * T - 1)  # of exchangeable states
    mean = np.mean(known(each.position_share for each in found))
    assert mean == pytest.approx(expected, rel=0.1)


def test_the_share_of_a_known_mixture_is_found():
    rows = torch.randn(T, 12, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    signal = float((rows - rows.mean(dim=0)).square().sum(dim=1).mean())
    found = of(rows + noise(4000, 99))
    assert found.position_share == pytest.approx(signal / (signal + 12), rel=0.02)
    assert known([found.noise_share])[0] < 0.01


def test_equal_states_have_no_variance_to_share():
    found = of(torch.full((8, T, 12), 3.0))
    assert (found.position_share, found.noise_share, found.offset) == (None, None, [])


@pytest.mark.parametrize("embedding", options.names("embedding"))
def test_norms_at_the_input_are_those_of_what_is_added(embedding: str):
    model = built("sinusoidal", embedding=options.embedding(embedding))
    found = measured(model)
    ids = windows(30)
    with torch.no_grad():
        rows = model.embedding.entering(model.embedding.token_rows())[ids]
        position = model.position.table()
    assert position is not None
    assert found.input_trained.token_norm == pytest.approx(float(rows.norm(dim=-1).mean()))
    assert found.input_trained.position_norm == pytest.approx(float(position.norm(dim=1).mean()))
    assert found.input_trained.ratio == pytest.approx(
        float(position.norm(dim=1).mean() / rows.norm(dim=-1).mean())
    )


def test_the_ratio_at_init_is_that_from_before_the_training():
    model = built("learned")
    before = input_norms(model)
    with torch.no_grad():
        table = model.position.table()
        assert table is not None
        table.mul_(3)
    found = hidden_mean(model, TEXT, config=config(hidden_windows=30), init=before)
    assert found.input_init.ratio is not None
    assert found.input_trained.ratio == pytest.approx(3 * found.input_init.ratio)
    assert found.input_trained.token_norm == found.input_init.token_norm


@pytest.mark.parametrize("position", ["rope_half", "alibi", "none"])
def test_a_scheme_without_rows_has_no_ratio(position: str):
    found = measured(built(position)).input_trained
    assert (found.position_norm, found.ratio) == (None, None)
    assert found.token_norm > 0


def test_measuring_leaves_dropout_and_values_as_they_were():
    model = built("learned", dropout=0.5).train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    first, second = measured(model), measured(model)
    assert first == second
    assert model.training
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_a_short_text_gives_as_many_windows_as_it_has():
    model = built("alibi")
    found = hidden_mean(model, TEXT[: T + 1], config=config(), init=input_norms(model))
    assert found.windows == 1
    assert found.layers[0].noise_share is None
