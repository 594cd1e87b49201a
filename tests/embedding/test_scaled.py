"""Rows times a constant."""

import pytest
import torch

from andrea_exp.embedding.scaled import Scaled
from andrea_exp.seeding import torch_generator
from tests import options


def build(multiplier: float | None) -> Scaled:
    config = options.embedding("scaled", multiplier=multiplier)
    sizes = options.model().sizes(used_vocab=19)
    module = config.build(sizes=sizes, kernel=options.kernel().build().embedding)
    assert isinstance(module, Scaled)
    module.initialise(torch_generator(0, "init/embedding"))
    return module


@pytest.mark.parametrize(("multiplier", "factor"), [(None, 12**0.5), (2.5, 2.5), (1.0, 1.0)])
def test_token_rows_are_multiplied_and_position_rows_are_not(
    multiplier: float | None, factor: float
):
    module, rows = build(multiplier), torch.randn(3, 12)
    ids = torch.tensor([[4, 0, 18], [4, 4, 1]])
    assert torch.equal(module(ids, rows), module.weight[ids] * factor + rows)
    assert module.scale() == factor * 0.08


def test_a_tied_output_uses_the_rows_as_they_are():
    module, hidden = build(None), torch.randn(1, 3, 12)
    assert module.token_rows() is module.weight
    assert module.tied_features(hidden) is hidden
