"""The narrow table and its projection."""

import pytest
import torch

from andrea_exp.embedding.factorized import Factorized
from andrea_exp.seeding import torch_generator
from tests import options

VOCAB, WIDTH = 19, 12


def build(*, rank: int = 5) -> Factorized:
    config = options.embedding("factorized", rank=rank, std=0.5)
    sizes = options.model(d_model=WIDTH).sizes(used_vocab=VOCAB)
    module = config.build(sizes=sizes, kernel=options.kernel().build().embedding)
    assert isinstance(module, Factorized)
    module.initialise(torch_generator(0, "init/embedding"))
    return module


@pytest.mark.parametrize("rank", [5, 1])
def test_parameters_are_rank_times_the_sum_of_vocabulary_and_width(rank: int):
    assert sum(p.numel() for p in build(rank=rank).parameters()) == rank * (VOCAB + WIDTH)


def test_vectors_are_the_product_of_row_and_projection():
    module, rows = build().double(), torch.randn(3, WIDTH).double()
    ids = torch.tensor([[4, 0, 18], [4, 4, 1]])
    expected = torch.einsum("bte,de->btd", module.weight[ids], module.projection) + rows
    torch.testing.assert_close(module(ids, rows), expected, rtol=0, atol=1e-12)


def test_tied_scores_are_products_with_the_vectors_that_went_in():
    module, hidden = build().double(), torch.randn(2, 3, WIDTH).double()
    vectors = module(torch.arange(VOCAB)[None], None)[0]
    scores = module.tied_features(hidden) @ module.token_rows().T
    torch.testing.assert_close(scores, hidden @ vectors.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rank", [WIDTH, WIDTH + 1])
def test_a_rank_that_saves_nothing_is_refused(rank: int):
    with pytest.raises(ValueError, match=rf"embedding\.rank={rank} .* model\.d_model={WIDTH}"):
        build(rank=rank)
