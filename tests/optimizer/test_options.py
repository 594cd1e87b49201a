"""Each optimizer option: one step by hand, decay where it belongs, its memory."""

import pytest
import torch
from torch import Tensor, nn

from andrea_exp.optimizer.adamw import AdamwConfig
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import Kind, parameter_groups
from andrea_exp.optimizer.sgd import SgdConfig
from tests import options


def config(option: str, **changes: float) -> OptimizerConfig:
    return options.typed(OptimizerConfig, options.values("optimizer", option), **changes)


class Toy(nn.Module):
    """One parameter of each kind."""

    def __init__(self) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.tensor([[1.0, -2.0], [0.5, 4.0], [3.0, 0.25]]))
        self.vector = nn.Parameter(torch.tensor([2.0, -1.0]))
        self.position = nn.Linear(2, 3, bias=False)
        nn.init.constant_(self.position.weight, 0.5)


def stepped(built: OptimizerConfig, *, gradient: float, steps: int = 1) -> dict[str, Tensor]:
    model = Toy()
    optimizer = built.build(parameter_groups(model))
    for _ in range(steps):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        optimizer.step()
    return {name: value.detach().double() for name, value in model.named_parameters()}


def test_the_classes_are_those_of_the_files():
    assert isinstance(config("adamw"), AdamwConfig)
    assert isinstance(config("sgd"), SgdConfig)


def test_adamw_takes_the_step_of_its_paper():
    beta1, beta2, eps, lr, decay, gradient = 0.8, 0.9, 1e-3, 0.05, 0.3, -0.7
    built = config("adamw", beta1=beta1, beta2=beta2, eps=eps, lr=lr, weight_decay=decay)
    expected, m, v = Toy().matrix.detach().double(), 0.0, 0.0
    for t in (1, 2, 3):
        m = beta1 * m + (1 - beta1) * gradient
        v = beta2 * v + (1 - beta2) * gradient**2
        step = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)) ** 0.5 + eps)
        expected = expected - lr * decay * expected - lr * step
    found = stepped(built, gradient=gradient, steps=3)["matrix"]
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    assert not torch.allclose(found, _coupled(lr=lr, decay=decay, gradient=gradient), rtol=1e-3)


def _coupled(*, lr: float, decay: float, gradient: float) -> Tensor:
    """Adam whose decay goes through the gradient: what AdamW is not."""
    matrix = nn.Parameter(Toy().matrix.detach().clone())
    adam = torch.optim.Adam([matrix], lr=lr, betas=(0.8, 0.9), eps=1e-3, weight_decay=decay)
    for _ in range(3):
        matrix.grad = torch.full_like(matrix, gradient)
        adam.step()
    return matrix.detach().double()


def test_sgd_takes_the_step_of_its_docstring():
    momentum, lr, decay, gradient = 0.6, 0.05, 0.3, -0.7
    built = config("sgd", momentum=momentum, lr=lr, weight_decay=decay)
    expected = Toy().matrix.detach().double()
    velocity = torch.zeros_like(expected)
    for _ in range(3):
        velocity = momentum * velocity + gradient + decay * expected
        expected = expected - lr * velocity
    found = stepped(built, gradient=gradient, steps=3)["matrix"]
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("option", options.names("optimizer"))
@pytest.mark.parametrize("decay_positions", [False, True])
def test_without_gradient_only_the_decayed_groups_shrink(option: str, decay_positions: bool):
    built = config(option, weight_decay=0.5, decay_positions=decay_positions, lr=0.1)
    before = {name: value.detach().double() for name, value in Toy().named_parameters()}
    after = stepped(built, gradient=0.0)
    shrunk = {name for name in after if not torch.equal(after[name], before[name])}
    assert shrunk == {"matrix"} | ({"position.weight"} if decay_positions else set())
    torch.testing.assert_close(after["matrix"], 0.95 * before["matrix"])


@pytest.mark.parametrize("option", options.names("optimizer"))
def test_moments_counts_the_tensors_that_torch_keeps(option: str):
    built = config(option)
    model = Toy()
    optimizer = built.build(parameter_groups(model))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    kept = optimizer.state[model.matrix].values()
    assert sum(isinstance(t, Tensor) and t.shape == (3, 2) for t in kept) == built.moments


def test_plain_descent_keeps_nothing():
    assert config("sgd", momentum=0.0).moments == 0


def test_torch_is_told_the_groups_by_name():
    groups = config("adamw", weight_decay=0.25).torch_groups(parameter_groups(Toy()))
    found = {group["name"]: group["weight_decay"] for group in groups}
    assert found == {
        Kind.matrices.name: 0.25,
        Kind.positions.name: 0.0,
        Kind.vectors.name: 0.0,
    }


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("lr", 0.0), ("lr", float("nan")), ("weight_decay", -0.1), ("beta2", 1.0), ("eps", 0.0)],
)
def test_numbers_outside_their_range_are_refused(key: str, wrong: float):
    with pytest.raises(ValueError, match=key):
        config("adamw", **{key: wrong})


def test_a_large_learning_rate_is_the_users_affair():
    assert config("sgd", lr=1e6).lr == 1e6
