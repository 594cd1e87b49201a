import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from andrea_exp.evaluate.order import Order, order, permutations
from andrea_exp.model.decoder import Decoder
from tests import options
from tests.evaluate.test_floor import config

VOCAB, T = 19, 7
TEXT = np.random.default_rng(6).integers(VOCAB, size=900)
EXACT = 1e-12
schemes = [name for name in options.names("position") if name != "none"]


def built(position: str, *, causal: bool = True, layers: int = 2, **changes: Any) -> Decoder:
    return options.decoder(
        options.model(causal=causal, num_layers=layers, init={"std": 0.4}, **changes),
        position=options.position(position),
        embedding=options.embedding("table", std=0.5),
        output=options.output("untied"),
    ).double()


def measured(model: Decoder, *, seed: int = 0, **changes: Any) -> Order:
    found = order(model, TEXT, config=config(**{"order_windows": 20} | changes), seed=seed)
    assert found is not None
    return found


def test_permutations_keep_the_last_place_and_are_neither_order_nor_reversal():
    for length in (4, 5, 9):
        found = permutations(300, length=length, seed=1)
        assert (found[:, -1] == length - 1).all()
        assert (found.sort(dim=1).values == torch.arange(length)).all()
        same = torch.arange(length - 1)
        assert not (found[:, :-1] == same).all(dim=1).any()
        assert not (found[:, :-1] == same.flip(0)).all(dim=1).any()
    assert len({tuple(row) for row in permutations(300, length=4, seed=1).tolist()}) == 4


def by_hand(model: Decoder, *, count: int, seed: int) -> tuple[float, float, float, float]:
    """One window at a time: change, both losses, and the error of the rise."""
    share = (len(TEXT) - 1) / count
    orders = permutations(count, length=T, seed=seed)
    changes: list[float] = []
    losses: list[tuple[float, float]] = []
    for index in range(count):
        start = math.floor((index + 0.5) * share - T / 2)
        ids, target = torch.from_numpy(TEXT[start : start + T]), TEXT[start + T]
        with torch.no_grad():
            plain = model(ids[None])[0, -1].log_softmax(-1)
            moved = model(ids[orders[index]][None])[0, -1].log_softmax(-1)
        changes.append(float((plain - moved).abs().mean()))
        losses.append((-float(plain[target]), -float(moved[target])))
    first, second = np.mean(losses, axis=0)
    rises = [after - before for before, after in losses]
    error = float(np.std(rises, ddof=1)) / math.sqrt(count)
    return float(np.mean(changes)), float(first), float(second), error


def assert_same(found: Order, expected: tuple[float, float, float, float]):
    change, loss, permuted, error = expected
    assert found.change_nats == pytest.approx(change, rel=1e-9)
    assert found.loss_nats == pytest.approx(loss, rel=1e-9)
    assert found.permuted_loss_nats == pytest.approx(permuted, rel=1e-9)
    assert found.rise_nats == pytest.approx(permuted - loss, rel=1e-9)
    assert found.rise_se == pytest.approx(error, rel=1e-9)


def test_the_probe_is_what_the_last_positions_say():
    model = built("rope_half")
    for batch_tokens in (1, 3 * T, 10**6):
        found = measured(model, seed=4, batch_tokens=batch_tokens)
        assert_same(found, by_hand(model, count=20, seed=4))


def test_other_permutations_would_be_caught():
    model = built("rope_half")
    with pytest.raises(AssertionError):
        assert_same(measured(model, seed=5), by_hand(model, count=20, seed=4))


def test_without_positions_one_causal_layer_does_not_know_the_order_and_two_do():
    assert measured(built("none", layers=1)).change_nats < EXACT
    assert measured(built("none", layers=2)).change_nats > 1e-3


@pytest.mark.parametrize("layers", [1, 3])
def test_without_positions_and_without_a_mask_no_depth_knows_the_order(layers: int):
    assert measured(built("none", causal=False, layers=layers)).change_nats < EXACT


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("position", schemes)
def test_with_any_scheme_one_layer_knows_the_order(position: str, *, causal: bool):
    assert measured(built(position, causal=causal, layers=1)).change_nats > 1e-5


def test_the_same_seed_gives_the_same_probe_and_the_model_is_left_alone():
    model = built("learned", dropout=0.5).train()
    state = torch.get_rng_state()
    assert measured(model) == measured(model)
    assert measured(model, seed=1) != measured(model)
    assert model.training
    assert torch.equal(state, torch.get_rng_state())


def test_windows_without_an_order_to_change_have_no_probe():
    model = built("learned", context=3)
    assert order(model, TEXT, config=config(), seed=0) is None


def test_one_window_has_no_error_and_the_record_is_json():
    found = measured(built("learned"), order_windows=1)
    assert (found.windows, found.rise_se) == (1, None)
    assert json.dumps(dataclasses.asdict(found), allow_nan=False)


def test_padded_ids_are_left_out():
    small, padded = built("rope_half"), built("rope_half", vocab=VOCAB + 5)
    with torch.no_grad():
        for name, value in small.state_dict().items():
            padded.state_dict()[name][: len(value)].copy_(value)
    assert measured(padded) == measured(small)
