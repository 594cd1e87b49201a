import dataclasses
import json

import numpy as np
import pytest
import torch

from andrea_exp.data.noise import NoiseConfig
from andrea_exp.evaluate.floor import Floor
from andrea_exp.evaluate.lengths import block_sample, lengths
from andrea_exp.evaluate.slots import SlotLoss, slot_losses
from tests.evaluate.test_floor import T, built, config, grammar


def by_hand(*, shift: int = 0) -> dict[str, tuple[float, float, int]]:
    """Loss, floor and number of targets of each slot, one window at a time."""
    data, model = grammar(), built()
    text, slots = data.validation(), data.slots()
    found: dict[str, list[tuple[float, float]]] = {}
    for window in block_sample(len(text), context=T, config=config()).windows(length=T, stride=T):
        piece = torch.from_numpy(text[window.start : window.stop + 1])
        with torch.no_grad():
            scores = model(piece[None, :-1])[0].double().log_softmax(dim=-1)
        least = data.optimal_nats(piece[None].numpy())[0]
        for index, target in enumerate(piece[1:].tolist()):
            name = slots.names[slots.of_token[window.start + index + 1 + shift]]
            found.setdefault(name, []).append((-float(scores[index, target]), float(least[index])))
    return {name: (*np.mean(pairs, axis=0).tolist(), len(pairs)) for name, pairs in found.items()}


def assert_same(rows: list[SlotLoss] | None, expected: dict[str, tuple[float, float, int]]):
    assert rows is not None
    assert {row.slot for row in rows} == set(expected)
    for row in rows:
        loss, floor, tokens = expected[row.slot]
        assert row.tokens == tokens
        assert row.loss_nats == pytest.approx(loss, rel=1e-5)
        assert row.floor_nats == pytest.approx(floor, abs=1e-12)


def test_a_slot_has_the_mean_of_its_targets():
    assert_same(slot_losses(built(), grammar(), config=config()), by_hand())


def test_slots_of_the_inputs_would_be_caught():
    with pytest.raises(AssertionError):
        assert_same(slot_losses(built(), grammar(), config=config()), by_hand(shift=-1))


def test_slots_together_are_the_block_row_at_the_trained_length():
    data = grammar()
    rows = slot_losses(built(), data, config=config())
    text = data.validation()
    (whole,) = (
        row
        for row in lengths(built(), text, config=config(), floor=Floor(data, text))
        if (row.factor, row.protocol) == (1, "block")
    )
    assert rows is not None
    tokens = [row.tokens for row in rows]
    assert sum(tokens) == whole.tokens_scored
    for key in ("loss_nats", "floor_nats", "accuracy"):
        parts = [getattr(row, key) for row in rows]
        assert np.average(parts, weights=tokens) == pytest.approx(getattr(whole, key), rel=1e-6)


def test_a_slot_is_json():
    rows = slot_losses(built(), grammar(), config=config())
    assert rows
    text = json.dumps([dataclasses.asdict(row) for row in rows], allow_nan=False)
    assert set(json.loads(text)[0]) == {"slot", "loss_nats", "floor_nats", "accuracy", "tokens"}


def test_data_without_slots_have_none():
    noise = NoiseConfig(name="noise", batch_size=3, vocab=45, validation_tokens=900)
    assert slot_losses(built(), noise.load(tokenizer=None, context=T), config=config()) is None
