"""The norm after the sum."""

import torch

from andrea_exp.embedding.normed import Normed
from andrea_exp.seeding import torch_generator
from tests import options


def build(**norm: bool) -> Normed:
    config = options.embedding("normed", norm=norm)
    sizes = options.model().sizes(used_vocab=19)
    module = config.build(sizes=sizes, kernel=options.kernel().build().embedding)
    assert isinstance(module, Normed)
    module.initialise(torch_generator(0, "init/embedding"))
    return module


def test_the_sum_is_normalised_not_its_parts():
    module, rows = build(), torch.randn(3, 12)
    ids = torch.tensor([[4, 0, 18], [4, 4, 1]])
    summed = (module.weight[ids] + rows).double()
    expected = summed / (summed.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(module(ids, rows), expected.float())
    parts = module.weight[ids] / module.weight[ids].square().mean(-1, keepdim=True).sqrt() + rows
    assert not torch.allclose(module(ids, rows), parts)


def test_the_scale_is_that_of_the_rows_before_the_sum():
    module = build()
    assert module.scale() == 0.08
    assert abs(module.weight.square().mean().sqrt().item() / 0.08 - 1) < 0.15


def test_the_norm_has_parameters_only_if_asked():
    assert sum(p.numel() for p in build().parameters()) == 19 * 12
    assert sum(p.numel() for p in build(gain=True, bias=True).parameters()) == 19 * 12 + 24
