"""Initial values: complete, and the same in every arm of a comparison."""

import itertools

import pytest
import torch
from torch import Tensor

from andrea_exp.model.block import Block
from andrea_exp.model.decoder import Decoder
from tests import options

CHOICES = list(
    itertools.product(
        options.names("position"), options.names("embedding"), options.names("output")
    )
)
every_choice = pytest.mark.parametrize(("position", "embedding", "output"), CHOICES)


def build(position: str, embedding: str, output: str, *, seed: int = 3, **model: object) -> Decoder:
    return options.decoder(
        options.model(**model),
        position=options.position(position),
        embedding=options.small(options.embedding(embedding)),
        output=options.output(output),
        seed=seed,
    )


def tensors(model: Decoder) -> dict[str, Tensor]:
    return dict(itertools.chain(model.named_parameters(), model.named_buffers()))


BASELINE = tensors(build("learned", "table", "untied"))


@every_choice
def test_shared_tensors_start_bit_equal_whatever_the_choices(
    position: str, embedding: str, output: str
):
    found = tensors(build(position, embedding, output))
    shared = {name for name in found if name.startswith(("blocks.", "norm."))}
    shared |= {"embedding.weight"} if found["embedding.weight"].shape == (19, 12) else set()
    shared |= {"output.weight"} & found.keys()
    assert len([name for name in shared if name.startswith("blocks.")]) == 12
    assert all(torch.equal(found[name], BASELINE[name]) for name in shared)


def test_parts_drawn_from_one_stream_would_not():
    def one_stream(position: str) -> Tensor:
        model, stream = build(position, "table", "untied"), torch.Generator().manual_seed(0)
        model.position.initialise(stream)
        block = model.blocks[0]
        assert isinstance(block, Block)
        block.initialise(stream, std=0.1, std_out=0.1)
        return block.attention.project_in.weight

    assert torch.equal(one_stream("rope"), one_stream("none"))
    assert not torch.equal(one_stream("learned"), one_stream("none"))


@every_choice
def test_initialise_overwrites_every_parameter_and_buffer(
    position: str, embedding: str, output: str
):
    model = build(position, embedding, output, bias=True, norm={"bias": True})
    expected = {name: tensor.clone() for name, tensor in tensors(model).items()}
    with torch.no_grad():
        for tensor in tensors(model).values():
            tensor.fill_(float("nan"))
    state = torch.random.get_rng_state()
    model.initialise(3)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in tensors(model).items())


def test_another_seed_draws_every_matrix_anew():
    one, other = (tensors(build("learned", "table", "untied", seed=seed)) for seed in (0, 1))
    matrices = [name for name, tensor in one.items() if tensor.ndim == 2]
    assert len(matrices) == 2 * 4 + 3
    assert all((one[name] != other[name]).any() for name in matrices)


def test_no_two_parts_start_alike():
    found = tensors(build("learned", "table", "untied", context=19, num_layers=2))
    firsts = [tensor[0, 0].item() for tensor in found.values() if tensor.ndim == 2]
    assert len(set(firsts)) == len(firsts)


@pytest.mark.parametrize(("residual", "factor"), [("plain", 1.0), ("scaled", 0.5), ("zero", 0.0)])
@pytest.mark.parametrize(("std", "spread"), [(0.05, 0.05), (None, 48**-0.5)])
def test_matrices_before_a_residual_sum_are_drawn_as_chosen(
    *, residual: str, factor: float, std: float | None, spread: float
):
    init = {"std": std, "residual": residual}
    found = tensors(build("none", "table", "tied", d_model=48, init=init))
    for name, tensor in found.items():
        if name.startswith("blocks.") and tensor.ndim == 2:
            last = name.endswith(("project_out.weight", "narrow.weight"))
            wanted = spread * factor if last else spread
            assert abs(tensor.std().item() - wanted) < 0.06 * spread


def test_the_choice_for_residual_matrices_leaves_the_others_as_they_are():
    plain = tensors(build("none", "table", "tied", init={"residual": "plain"}))
    zero = tensors(build("none", "table", "tied", init={"residual": "zero"}))
    for name, tensor in plain.items():
        last = name.endswith(("project_out.weight", "narrow.weight"))
        assert torch.equal(tensor, zero[name]) != last


def test_biases_start_at_zero_and_gains_at_one():
    found = tensors(build("none", "table", "tied", bias=True, norm={"bias": True}))
    for name, tensor in found.items():
        if tensor.ndim == 1:
            wanted = torch.zeros_like(tensor) if name.endswith("bias") else torch.ones_like(tensor)
            assert torch.equal(tensor, wanted)
