"""The whole walk: states, scores, losses, padding and explicit positions."""

import pytest
import torch
import torch.nn.functional as F
from jaxtyping import config as shape_checks
from torch import Tensor

from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Positions
from tests import options

VOCAB = 19


def build(
    *,
    position: str = "learned",
    embedding: str = "table",
    output: str = "tied",
    used_vocab: int = VOCAB,
    **model: object,
) -> Decoder:
    return options.decoder(
        options.model(**model),
        position=options.position(position),
        embedding=options.small(options.embedding(embedding)),
        output=options.output(output),
        used_vocab=used_vocab,
    )


def ids() -> Tensor:
    return torch.tensor([[3, 1, 4, 15, 9], [2, 7, 18, 2, 8]])


def targets() -> Tensor:
    return torch.tensor([[1, 4, 15, 9, 2], [7, 18, 2, 8, 0]])


every_output = pytest.mark.parametrize("output", options.names("output"))
every_embedding = pytest.mark.parametrize("embedding", options.names("embedding"))


@every_output
@every_embedding
def test_losses_are_the_cross_entropy_of_the_scores(embedding: str, output: str):
    model = build(embedding=embedding, output=output).double()
    scores = model(ids())
    assert scores.shape == (2, 5, VOCAB)
    expected = F.cross_entropy(scores.transpose(1, 2), targets(), reduction="none")
    torch.testing.assert_close(model.losses(ids(), targets()), expected, rtol=0, atol=1e-12)
    shifted = F.cross_entropy(scores.transpose(1, 2), ids(), reduction="none")
    assert not torch.allclose(model.losses(ids(), targets()), shifted)


@every_output
def test_scores_are_products_of_the_normalised_stream_with_the_output_rows(output: str):
    model = build(output=output).double()
    last = F.layer_norm(model.states(ids())[-2], (12,), eps=1e-5)
    rows = model.get_parameter("embedding.weight" if output == "tied" else "output.weight")
    torch.testing.assert_close(model(ids()), last @ rows.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("layers", [0, 1, 3])
def test_states_are_the_stream_after_each_step_and_what_is_scored(layers: int):
    model = build(num_layers=layers)
    states = model.states(ids())
    assert len(states) == layers + 2
    rows = model.position.rows(Positions.first(5, device=torch.device("cpu")))
    assert torch.equal(states[0], model.embedding(ids(), rows))
    assert torch.equal(states[-1], model.hidden(ids()))


@pytest.mark.parametrize("final", [True, False])
def test_the_last_norm_can_be_left_out(final: bool):
    model = build(norm={"final": final})
    assert (model.norm is None) != final
    assert torch.equal(model.states(ids())[-2], model.hidden(ids())) != final


@pytest.mark.parametrize("position", options.names("position"))
def test_no_layers_leave_embedding_and_output_alone(position: str):
    model = build(position=position, num_layers=0)
    assert not list(model.blocks.parameters())
    assert model(ids()).isfinite().all()
    model.losses(ids(), targets()).mean().backward()


@every_output
@every_embedding
def test_padding_rows_change_no_loss_and_get_no_gradient(embedding: str, output: str):
    padded = build(embedding=embedding, output=output, vocab=23).double()
    plain = build(embedding=embedding, output=output).double()
    state = padded.state_dict()
    plain.load_state_dict(
        {name: state[name][: len(tensor)] for name, tensor in plain.state_dict().items()}
    )
    found = padded.losses(ids(), targets())
    assert torch.equal(found, plain.losses(ids(), targets()))
    scores = padded(ids())
    assert scores.shape == (2, 5, 23)
    assert (scores[..., VOCAB:] == -torch.inf).all()
    assert torch.equal(scores[..., :VOCAB], plain(ids()))
    found.mean().backward()
    for parameter in padded.parameters():
        if len(parameter) == 23:
            assert parameter.grad is not None
            assert (parameter.grad[VOCAB:] == 0).all()
            assert (parameter.grad[:VOCAB] != 0).any()


def test_gradients_flow_through_padded_scores_as_through_losses():
    model = build(vocab=23).double()
    table = model.get_parameter("embedding.weight")
    scores = model(ids()).transpose(1, 2)
    through = F.cross_entropy(scores, targets(), reduction="none")
    (by_scores,) = torch.autograd.grad(through.mean(), table)
    (by_losses,) = torch.autograd.grad(model.losses(ids(), targets()).mean(), table)
    torch.testing.assert_close(by_scores, by_losses, rtol=0, atol=1e-12)
    assert (by_losses != 0).any()


def test_positions_can_be_given_and_follow_their_tokens():
    model = build(position="learned", num_layers=0)
    order = torch.tensor([4, 1, 0, 3, 2])
    there = model(ids()[:, order], positions=Positions(index=order, length=5))
    assert torch.equal(there, model(ids())[:, order])
    assert not torch.allclose(model(ids()[:, order]), model(ids())[:, order])


def test_dropout_acts_in_training_alone():
    model = build(dropout=0.4)
    assert torch.equal(model.eval()(ids()), model(ids()))
    assert not torch.equal(model.train()(ids()), model(ids()))
    assert torch.equal(model.eval().states(ids())[0], build().states(ids())[0])


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_ids_of_another_type_are_refused(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)
    with pytest.raises(TypeError, match="must be int64"):
        build()(ids().to(dtype))


def test_ids_without_a_batch_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)
    with pytest.raises(ValueError, match=r"shape \(B, T\), got \(5,\)"):
        build()(ids()[0])
