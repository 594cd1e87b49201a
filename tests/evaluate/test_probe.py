"""The columns of a probe: the panel's own numbers, and a loss on fixed targets."""

from typing import Any

import numpy as np
import pytest
import torch

from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.panel import panel
from andrea_exp.evaluate.probe import Probe, headline
from andrea_exp.model.decoder import Decoder
from tests import options

TEXT = np.random.default_rng(0).integers(19, size=200)
TABLE = ("adjacent_cosine", "centred_adjacent_cosine", "d2_over_d1", "effective_rank")


def decoder(position: str, **changes: Any) -> Decoder:
    return options.decoder(
        options.model(dropout=0.4),
        position=options.position(position, **changes),
        embedding=options.embedding("table"),
        output=options.output("tied"),
    )


def probe(model: Decoder, **changes: Any) -> Probe:
    plain = options.values("evaluation", "standard")
    config = options.typed(EvaluationConfig, plain, **changes)
    return Probe(model, TEXT, config=config)


def test_the_columns_are_those_of_the_panel_over_the_trained_rows():
    model = decoder("learned", rows=11)
    table = model.position.table()
    assert table is not None
    found, expected = probe(model)(), panel(table[:7])
    assert list(found) == [*TABLE, "val_loss_nats"]
    for name in TABLE:
        assert found[name] == getattr(expected, name)
        assert found[name] != getattr(panel(table), name)


@pytest.mark.parametrize("position", ["sinusoidal", "rope_half", "alibi", "none"])
def test_what_cannot_move_has_the_loss_alone(position: str):
    assert list(probe(decoder(position))()) == ["val_loss_nats"]


def test_the_loss_is_that_of_block_windows_that_lie_evenly():
    model = decoder("learned")
    # 28 targets: two segments of 14, in the middle of their halves of 199 targets.
    starts = [42, 42 + 7, 142, 142 + 7]
    ids = torch.from_numpy(np.stack([TEXT[start : start + 8] for start in starts]))
    expected = model.eval().losses(ids[:, :-1], ids[:, 1:]).mean().item()
    assert probe(model, probe_targets=28)()["val_loss_nats"] == pytest.approx(expected, rel=1e-6)


def test_it_leaves_mode_gradients_and_random_state_alone():
    model = decoder("learned").train()
    measure = probe(model)
    model.losses(torch.arange(6)[None], torch.arange(6)[None]).mean().backward()
    gradients = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    torch.manual_seed(4)
    state = torch.get_rng_state()
    assert measure() == measure()
    assert torch.equal(state, torch.get_rng_state())
    assert all(module.training for module in model.modules())
    for parameter, before in zip(model.parameters(), gradients, strict=True):
        assert before is not None
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, before)


def test_it_measures_in_full_precision_inside_an_autocast():
    measure = probe(decoder("learned"))
    plain = measure()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert measure() == plain


def test_it_is_due_at_multiples_or_never():
    model = decoder("learned")
    every = probe(model, probe_every_steps=4)
    assert [step for step in range(1, 13) if every.due(step)] == [4, 8, 12]
    assert not any(probe(model, probe_every_steps=None).due(step) for step in range(1, 13))


@pytest.mark.parametrize("rows", [torch.ones(2, 3), torch.full((5, 3), torch.nan)])
def test_rows_that_have_no_panel_have_no_columns(rows: torch.Tensor):
    assert headline(rows) == {}
