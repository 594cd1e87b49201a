"""An output matrix of its own."""

import math

import pytest
import torch

from andrea_exp.model.decoder import Decoder
from andrea_exp.output.untied import Untied
from tests import options

VOCAB = 19


def build(
    *, std: float | None = None, embedding_std: float = 0.08, vocab: int = VOCAB, **model: object
) -> Decoder:
    return options.decoder(
        options.model(**model),
        position=options.position("learned"),
        embedding=options.embedding("table", std=embedding_std),
        output=options.output("untied", std=std),
        used_vocab=vocab,
    )


def test_it_adds_vocabulary_times_width_parameters():
    output = build().output
    assert [p.shape for p in output.parameters()] == [(VOCAB, 12)]


def test_rows_absent_from_the_batch_get_gradient_on_the_output_side_alone():
    model = build()
    ids = torch.tensor([[3, 1, 4], [1, 5, 9]])
    model.losses(ids, ids.roll(1)).mean().backward()
    assert isinstance(model.output, Untied)
    inside, outside = model.embedding.token_rows().grad, model.output.weight.grad
    assert inside is not None
    assert outside is not None
    assert inside.abs().sum(dim=1).nonzero().flatten().tolist() == [1, 3, 4, 5, 9]
    assert (outside.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize(("std", "spread"), [(None, 0.3), (0.05, 0.05)])
def test_its_spread_is_the_stated_one_or_the_token_tables(std: float | None, spread: float):
    output = build(std=std, embedding_std=0.3, vocab=600).output
    assert isinstance(output, Untied)
    assert abs(output.weight.std().item() / spread - 1) < 0.05
    assert abs(output.weight.mean().item()) < 0.05 * spread


def test_it_does_not_share_its_values_with_the_token_table():
    model = build()
    assert isinstance(model.output, Untied)
    assert not torch.equal(model.output.weight, model.embedding.token_rows())


@pytest.mark.parametrize("std", [0.02, 0.0361, 0.125])
def test_the_first_loss_is_near_uniform_plus_half_the_variance_of_the_scores(std: float):
    vocab, width = 3000, 64
    model = build(std=std, vocab=vocab, d_model=width, num_heads=2, num_layers=1, context=64)
    generator = torch.Generator().manual_seed(0)
    ids, targets = torch.randint(vocab, (2, 32, 64), generator=generator)
    loss = model.losses(ids, targets).mean().item()
    assert abs(loss - (math.log(vocab) + std**2 * width / 2)) < 0.06


def test_a_spread_of_the_root_of_the_width_shows_in_the_first_loss():
    model = build(std=8.0, vocab=300, d_model=64, num_heads=2)
    ids = torch.arange(7)[None]
    assert model.losses(ids, ids).mean().item() > 10 * math.log(300)
