"""What order a model can see: exact properties, in float64."""

import pytest
import torch
from torch import Tensor

from andrea_exp.model.decoder import Decoder
from tests import options

LENGTH = 7
# Not a reversal, which a symmetric bias cannot see either.
SHUFFLE = torch.tensor([2, 0, 5, 1, 4, 6, 3])
EARLIER = torch.tensor([2, 0, 5, 1, 4, 3, 6])  # the last token stays

schemes = [name for name in options.names("position") if name != "none"]


def build(option: str, *, causal: bool, layers: int) -> Decoder:
    model = options.decoder(
        options.model(causal=causal, num_layers=layers, init={"std": 0.4}),
        position=options.position(option),
        embedding=options.embedding("table", std=0.5),
        output=options.output("untied"),
    )
    return model.double()


def ids() -> Tensor:
    return torch.tensor([[3, 1, 4, 15, 9, 2, 6], [2, 7, 18, 2, 8, 1, 0]])


def change_of_the_last(model: Decoder) -> float:
    """How much the last scores depend on the order of the earlier tokens."""
    return float((model(ids())[:, -1] - model(ids()[:, EARLIER])[:, -1]).detach().abs().max())


def change_of_the_set(model: Decoder) -> float:
    """How much the scores depend on order, beyond moving with their tokens."""
    moved = model(ids()[:, SHUFFLE])
    return float((model(ids())[:, SHUFFLE] - moved).detach().abs().max())


@pytest.mark.parametrize("layers", [1, 3])
def test_without_positions_and_mask_scores_only_move_with_their_tokens(layers: int):
    assert change_of_the_set(build("none", causal=False, layers=layers)) < 1e-12


@pytest.mark.parametrize("option", schemes)
def test_without_a_mask_every_scheme_sees_order(option: str):
    assert change_of_the_set(build(option, causal=False, layers=1)) > 1e-4


def test_without_positions_one_causal_layer_does_not_see_the_order_of_the_past():
    assert change_of_the_last(build("none", causal=True, layers=1)) < 1e-12


def test_without_positions_two_causal_layers_do():
    assert change_of_the_last(build("none", causal=True, layers=2)) > 1e-3


@pytest.mark.parametrize("option", schemes)
def test_with_any_scheme_one_causal_layer_does(option: str):
    assert change_of_the_last(build(option, causal=True, layers=1)) > 1e-4


def test_a_symmetric_bias_without_a_mask_cannot_see_a_reversal():
    model = build("alibi", causal=False, layers=2)
    reversal = torch.arange(LENGTH - 1, -1, -1)
    change = model(ids())[:, reversal] - model(ids()[:, reversal])
    assert float(change.detach().abs().max()) < 1e-12
    assert change_of_the_set(model) > 1e-3
