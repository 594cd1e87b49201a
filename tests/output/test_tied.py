"""The token table as output matrix: one storage, and gradient in every row."""

import pytest
import torch
from torch import optim

from andrea_exp.model.decoder import Decoder
from tests import options

VOCAB = 19


def build(*, embedding: str = "table", seed: int = 0) -> Decoder:
    return options.decoder(
        options.model(),
        position=options.position("learned"),
        embedding=options.small(options.embedding(embedding)),
        output=options.output("tied"),
        used_vocab=VOCAB,
        seed=seed,
    )


def is_one_storage(model: Decoder) -> bool:
    table = model.embedding.token_rows()
    rows = model.output.rows(embedding=model.embedding)
    names = [name for name, p in model.named_parameters() if p.shape == table.shape]
    return rows.data_ptr() == table.data_ptr() and names == ["embedding.weight"]


def step(model: Decoder) -> None:
    ids = torch.tensor([[3, 1, 4], [1, 5, 9]])
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    model.losses(ids, ids).mean().backward()
    optimizer.step()


every_embedding = pytest.mark.parametrize("embedding", options.names("embedding"))


@every_embedding
def test_it_has_no_parameters(embedding: str):
    assert not list(build(embedding=embedding).output.parameters())


@every_embedding
def test_it_is_one_storage_through_load_copy_and_step(embedding: str):
    model, other = build(embedding=embedding), build(embedding=embedding, seed=1)
    assert is_one_storage(model)
    model.load_state_dict(other.state_dict())
    assert is_one_storage(model)
    step(model)
    assert is_one_storage(model)
    assert is_one_storage(model.double())


def test_a_step_on_the_table_moves_the_scores():
    model = build()
    hidden = torch.randn(1, 3, 12)
    before = model.output.rows(embedding=model.embedding).clone()
    assert model.output.features(hidden, embedding=model.embedding) is hidden
    step(model)
    assert not torch.equal(model.output.rows(embedding=model.embedding), before)


@every_embedding
def test_gradient_reaches_every_row_of_the_table(embedding: str):
    model = build(embedding=embedding)
    step(model)
    gradient = model.embedding.token_rows().grad
    assert gradient is not None
    assert (gradient.abs().sum(dim=1) > 0).all()
