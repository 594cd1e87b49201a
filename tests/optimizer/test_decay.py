"""What decay alone leaves of a parameter: the published floors, and torch's own steps."""

from typing import Any

import pytest
import torch

from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import Group, Kind
from tests import options

CONSTANT = {"shape": "constant", "warmup_steps": 0, "decay_from": 0.0, "final_fraction": 0.1}


def rule(option: str, **changes: Any) -> OptimizerConfig:
    plain = options.values("optimizer", option) | {"decay_positions": True}
    return options.typed(OptimizerConfig, plain, **changes)


def left_by_torch(config: OptimizerConfig, *, max_steps: int) -> float:
    """What torch's own optimizer leaves, in float64, of a row that never has a gradient."""
    row = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    optimizer = config.build([Group(Kind.positions, {"row": row})])
    for step in range(max_steps):
        for group in optimizer.param_groups:
            group["lr"] = config.lr * config.schedule.multiple(step, max_steps=max_steps)
        row.grad = torch.zeros_like(row)
        optimizer.step()
    return row[0].item()


@pytest.mark.parametrize(
    ("lr", "decay", "steps", "floor"),
    [(3e-4, 0.01, 740, 0.0022175), (1e-3, 0.1, 2000, 0.1812774), (3e-4, 0.1, 5000, 0.1392940)],
)
def test_the_floor_of_a_constant_rate_is_known(lr: float, decay: float, steps: int, floor: float):
    config = rule("adamw", lr=lr, weight_decay=decay, schedule=CONSTANT)
    assert 1 - config.kept(Kind.positions, max_steps=steps) == pytest.approx(floor, abs=5e-8)


@pytest.mark.parametrize("option", ["adamw", "sgd"])
@pytest.mark.parametrize("changes", [{}, {"schedule": CONSTANT}, {"lr": 0.02}])
def test_it_is_what_torch_leaves(option: str, changes: dict[str, Any]):
    config = rule(option, weight_decay=0.4, **changes)
    found = config.kept(Kind.positions, max_steps=60)
    assert found == pytest.approx(left_by_torch(config, max_steps=60), rel=1e-12)
    assert found < 0.98


def test_saboteur_the_decay_of_adamw_is_not_that_of_sgd_with_momentum():
    changes: dict[str, Any] = {"weight_decay": 0.4, "lr": 0.02}
    adamw, sgd = rule("adamw", **changes), rule("sgd", **changes)
    left = left_by_torch(sgd, max_steps=60)
    assert adamw.kept(Kind.positions, max_steps=60) != pytest.approx(left, rel=1e-3)


@pytest.mark.parametrize("option", ["adamw", "sgd"])
def test_rows_that_are_not_decayed_keep_everything(option: str):
    config = rule(option, weight_decay=0.4, decay_positions=False)
    assert config.kept(Kind.positions, max_steps=60) == 1
    assert config.kept(Kind.matrices, max_steps=60) < 1
