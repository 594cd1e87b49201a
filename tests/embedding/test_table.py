"""The plain table."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from andrea_exp.embedding.table import Table
from andrea_exp.seeding import torch_generator
from tests import options

VOCAB, WIDTH = 19, 12


def build(*, std: float | None = 0.5) -> Table:
    config = options.embedding("table", std=std)
    sizes = options.model(d_model=WIDTH).sizes(used_vocab=VOCAB)
    module = config.build(sizes=sizes, kernel=options.kernel().build().embedding)
    assert isinstance(module, Table)
    module.initialise(torch_generator(0, "init/embedding"))
    return module


def one_hot(ids: Tensor) -> Tensor:
    return F.one_hot(ids, VOCAB).float()


def test_a_lookup_is_the_product_with_one_hot_rows_bit_for_bit():
    module = build()
    ids = torch.arange(VOCAB).roll(5)[None]
    assert torch.equal(module(ids, None), one_hot(ids) @ module.weight)
    assert not torch.equal(module(ids, None), one_hot(ids.roll(1)) @ module.weight)


def test_gradients_add_up_over_repeated_ids():
    module = build()
    module(torch.tensor([[1, 2, 1]]), None).sum().backward()
    assert module.weight.grad is not None
    assert module.weight.grad[:4].tolist() == [[count] * WIDTH for count in (0, 2, 1, 0)]


@pytest.mark.parametrize(("std", "spread"), [(0.5, 0.5), (0.02, 0.02), (None, 12**-0.5)])
def test_the_initial_spread_is_the_stated_one_or_one_over_the_root_of_the_width(
    std: float | None, spread: float
):
    module = build(std=std)
    assert module.scale() == spread
    assert abs(module.weight.std().item() / spread - 1) < 0.15


def test_the_table_is_all_there_is():
    assert [(name, p.shape) for name, p in build().named_parameters()] == [
        ("weight", (VOCAB, WIDTH))
    ]
