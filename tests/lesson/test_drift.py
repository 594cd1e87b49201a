"""What moves without gradient: decay and momentum, never plain descent."""

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import parameter_groups
from tests import options

VOCAB = 19
EARLY = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 3, 5, 1]])
LATE = torch.tensor([[6, 7, 8, 6, 7], [0, 1, 1, 0, 1]])
ONCE = [2, 3, 4, 5, 9]  # in EARLY and not in LATE
NEVER = list(range(10, VOCAB))


def build(*, output: str = "untied", rows: int | None = None) -> Decoder:
    return options.decoder(
        options.model(),
        position=options.position("learned", rows=rows),
        embedding=options.embedding("table"),
        output=options.output(output),
        used_vocab=VOCAB,
    )


def optimizer(option: str, **changes: object) -> OptimizerConfig:
    return options.typed(OptimizerConfig, options.values("optimizer", option), **changes)


PLAIN = optimizer("sgd", momentum=0.0)
MOMENTUM = optimizer("sgd", momentum=0.9)
ADAM = optimizer("adamw", weight_decay=0.0)
ADAMW = optimizer("adamw", weight_decay=0.1)


def trained(
    model: Decoder, config: OptimizerConfig, *, batches: Sequence[Tensor], rates: Sequence[float]
) -> list[Tensor]:
    """Copies of the token table: at the start and after each step."""
    table = model.embedding.token_rows()
    steps = config.build(parameter_groups(model))
    copies = [table.detach().clone()]
    for ids, rate in zip(batches, rates, strict=True):
        for group in steps.param_groups:
            group["lr"] = rate
        steps.zero_grad()
        model.losses(ids, ids.roll(-1, dims=1)).mean().backward()
        steps.step()
        copies.append(table.detach().clone())
    return copies


RATES = [0.01, 0.03, 0.002, 0.02]
BATCHES = [EARLY, LATE, LATE, LATE]


def moved(before: Tensor, after: Tensor) -> list[int]:
    """Rows that are not bit-identical."""
    return (before != after).any(dim=1).nonzero().flatten().tolist()


@pytest.mark.parametrize("config", [PLAIN, MOMENTUM, ADAM], ids=["sgd", "momentum", "adam"])
def test_a_row_that_was_never_seen_stays_bit_identical_without_decay(config: OptimizerConfig):
    first, *_, last = trained(build(), config, batches=BATCHES, rates=RATES)
    assert moved(first, last) == [row for row in range(VOCAB) if row not in NEVER]
    assert last[NEVER].abs().min() > 0


@pytest.mark.parametrize("config", [PLAIN, ADAM], ids=["sgd", "adam"])
def test_a_tied_table_has_no_such_row(config: OptimizerConfig):
    first, *_, last = trained(build(output="tied"), config, batches=BATCHES, rates=RATES)
    assert moved(first, last) == list(range(VOCAB))


def test_decay_shrinks_such_rows_by_its_rates_product():
    first, *_, last = trained(build(), ADAMW, batches=BATCHES, rates=RATES)
    factor = (1 - 0.001) * (1 - 0.003) * (1 - 0.0002) * (1 - 0.002)
    torch.testing.assert_close(last[NEVER], factor * first[NEVER], rtol=5e-7, atol=0)
    peak = (1 - 0.003) ** 4
    assert not torch.allclose(last[NEVER], peak * first[NEVER], rtol=5e-7, atol=0)
    assert not torch.allclose(last[ONCE], factor * first[ONCE], rtol=1e-3, atol=0)


@pytest.mark.parametrize(
    ("config", "moves"),
    [(PLAIN, False), (MOMENTUM, True), (ADAM, True)],
    ids=["sgd", "momentum", "adam"],
)
def test_a_row_seen_earlier_is_moved_by_momentum_alone(config: OptimizerConfig, moves: bool):
    _, after_early, *_, last = trained(build(), config, batches=BATCHES, rates=RATES)
    assert set(ONCE) & set(moved(after_early, last)) == (set(ONCE) if moves else set())


def test_momentum_carries_a_row_on_by_the_geometric_series_of_its_last_step():
    first, after_early, *_, last = trained(
        build(), MOMENTUM, batches=BATCHES, rates=[0.01, 0.01, 0.01, 0.01]
    )
    carried = (last - after_early)[ONCE] / (after_early - first)[ONCE]
    assert carried.median().item() == pytest.approx(0.9 + 0.81 + 0.729, rel=1e-3)


@pytest.mark.parametrize(
    ("config", "factor"),
    [
        (optimizer("adamw", weight_decay=0.1, decay_positions=True), 0.9512),
        (optimizer("adamw", weight_decay=0.1, decay_positions=False), None),
        (MOMENTUM, None),
    ],
    ids=["decayed", "not decayed", "sgd"],
)
def test_rows_past_the_trained_length_never_learn(config: OptimizerConfig, factor: float | None):
    model = build(rows=11)
    table = model.position.table()
    assert table is not None
    before = table.detach().clone()
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2]])
    trained(model, config, batches=[ids] * 50, rates=[0.01] * 50)
    assert table.grad is not None
    assert (table.grad[:7] != 0).any(dim=1).all()
    assert not table.grad[7:].any()
    assert moved(before[:7], table[:7]) == list(range(7))
    if factor is None:
        assert torch.equal(table[7:], before[7:])
    else:
        assert factor == round(math.exp(50 * math.log1p(-0.01 * 0.1)), 4)
        torch.testing.assert_close(table[7:].detach(), before[7:] * factor, rtol=1e-4, atol=0)
        assert not torch.allclose(table[:7], before[:7] * factor, rtol=0.01, atol=0)
