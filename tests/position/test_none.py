"""The baseline without positions."""

import torch

from andrea_exp.position.base import Positions
from andrea_exp.shapes import Sizes
from tests import options


def test_nothing_is_added_turned_or_biased():
    sizes = Sizes(vocab=5, used_vocab=5, context=9, d_model=6, num_heads=3, num_layers=1)
    scheme = options.position("none").build(sizes=sizes, token_scale=1.0)
    where = Positions.first(4, device=torch.device("cpu"))
    vectors = torch.randn(1, 3, 4, 2)
    assert scheme.rows(where) is None
    assert scheme.turn(vectors, where) is vectors
    assert scheme.bias(where) is None
    assert scheme.table() is None
    assert not list(scheme.parameters())
    assert not list(scheme.buffers())
