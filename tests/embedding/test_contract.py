"""What every token embedding owes the model."""

import dataclasses

import pytest
import torch
from jaxtyping import config as shape_checks
from torch import Tensor

from andrea_exp.embedding.base import Embedding
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.position.base import Positions
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes
from tests import options

VOCAB, WIDTH = 19, 12
every_option = pytest.mark.parametrize("option", options.names("embedding"))
# A norm after the sum hides what enters it.
adding = pytest.mark.parametrize(
    "option",
    [
        name
        for name in options.names("embedding")
        if "norm" not in options.values("embedding", name)
    ],
)


def sizes(*, vocab: int = VOCAB, width: int = WIDTH) -> Sizes:
    return Sizes(vocab=vocab, used_vocab=vocab, context=7, d_model=width, num_heads=3, num_layers=1)


def build(option: str, *, sizes: Sizes, std: float | None = 0.5, seed: int = 0) -> Embedding:
    config = options.small(options.embedding(option, std=std))
    module = config.build(sizes=sizes, kernel=options.kernel().build().embedding)
    module.initialise(torch_generator(seed, "init/embedding"))
    return module


def some_ids() -> Tensor:
    return torch.tensor([[3, 0, 18, 3], [7, 7, 1, 2]])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("with_rows", [True, False])
@every_option
def test_ids_become_vectors_of_the_models_width_and_precision(
    option: str, with_rows: bool, dtype: torch.dtype
):
    module = build(option, sizes=sizes()).to(dtype)
    vectors = module(some_ids(), torch.randn(4, WIDTH).to(dtype) if with_rows else None)
    assert (vectors.shape, vectors.dtype) == ((2, 4, WIDTH), dtype)


@adding
def test_position_rows_are_added_to_every_sequence_bit_for_bit(option: str):
    module, rows = build(option, sizes=sizes()), torch.randn(4, WIDTH)
    assert torch.equal(module(some_ids(), rows), module(some_ids(), None) + rows)
    assert not torch.equal(module(some_ids(), rows.flip(0)), module(some_ids(), None) + rows)


@every_option
def test_rows_that_are_computed_are_added_like_the_same_rows_written(option: str):
    module = build(option, sizes=sizes())
    rows = Sinusoid(index=torch.tensor([5, 0, 2, 900]), width=WIDTH, base=50.0, multiplier=0.5)
    vectors = module(some_ids(), rows.write(torch.float32))
    assert torch.equal(module(some_ids(), rows), vectors)
    assert not torch.equal(module(some_ids(), dataclasses.replace(rows, base=51.0)), vectors)


@adding
def test_rows_enter_the_sum_as_they_are_added(option: str):
    module = build(option, sizes=sizes())
    entering = module.entering(module.token_rows())
    assert torch.allclose(entering[some_ids()], module(some_ids(), None), rtol=1e-5, atol=1e-7)


@every_option
def test_equal_ids_have_equal_vectors_wherever_they_stand(option: str):
    vectors = build(option, sizes=sizes())(some_ids(), None)
    assert torch.equal(vectors[0, 0], vectors[0, 3])
    assert torch.equal(vectors[1, 0], vectors[1, 1])
    assert not torch.equal(vectors[0, 0], vectors[0, 1])


@pytest.mark.parametrize("std", [0.02, None])
@adding
def test_the_stated_scale_is_the_measured_one(option: str, std: float | None):
    module = build(option, sizes=sizes(vocab=4000, width=36), std=std)
    vectors = module(torch.arange(4000)[None], None)
    measured = vectors.square().mean().sqrt().item()
    smallest = min(parameter.numel() for parameter in module.parameters())
    assert abs(measured / module.scale() - 1) < 3 / (2 * smallest) ** 0.5


@every_option
def test_a_matched_sinusoid_is_as_long_as_a_token_vector(option: str):
    shared = sizes(vocab=4000, width=36)
    module = build(option, sizes=shared)
    scheme = options.position("sinusoidal").build(sizes=shared, token_scale=module.scale())
    scheme.initialise(torch.Generator())
    rows = scheme.rows(Positions.first(7, device=torch.device("cpu")))
    assert isinstance(rows, Tensor)
    torch.testing.assert_close(rows.norm(dim=1), torch.full((7,), 6.0) * module.scale())


@pytest.mark.parametrize("wrong", [-1, VOCAB])
@every_option
def test_an_id_outside_the_table_is_refused_with_the_range(option: str, wrong: int):
    ids = some_ids()
    ids[1, 2] = wrong
    with pytest.raises(ValueError, match=rf"token id {wrong} is outside 0\.\.18"):
        build(option, sizes=sizes())(ids, None)


@every_option
def test_ids_of_another_type_or_shape_are_refused(option: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)
    module = build(option, sizes=sizes())
    with pytest.raises(TypeError, match=r"must be int64, got torch\.int32"):
        module(some_ids().int(), None)
    with pytest.raises(ValueError, match=r"shape \(B, T\), got \(4,\)"):
        module(some_ids()[0], None)


@every_option
def test_only_rows_whose_ids_occur_get_gradient(option: str):
    module = build(option, sizes=sizes())
    module(some_ids(), None).pow(3).sum().backward()
    table = module.token_rows()
    assert table.grad is not None
    touched = table.grad.abs().sum(dim=1).nonzero().flatten().tolist()
    assert touched == sorted(set(some_ids().flatten().tolist()))


@every_option
def test_a_tied_output_can_score_hidden_states(option: str):
    module = build(option, sizes=sizes())
    features = module.tied_features(torch.randn(2, 4, WIDTH))
    assert features.shape == (2, 4, module.token_rows().shape[1])
    assert len(module.token_rows()) == VOCAB


@every_option
def test_initialise_overwrites_everything_from_its_generator_alone(option: str):
    one, other = build(option, sizes=sizes()), build(option, sizes=sizes(), seed=1)
    expected = {name: tensor.clone() for name, tensor in one.named_parameters()}
    assert not torch.equal(one.token_rows(), other.token_rows())
    for parameter in one.parameters():
        torch.nn.init.constant_(parameter, float("nan"))
    state = torch.random.get_rng_state()
    one.initialise(torch_generator(0, "init/embedding"))
    assert torch.equal(torch.random.get_rng_state(), state)
    for name, tensor in one.named_parameters():
        assert torch.equal(tensor, expected[name])


@every_option
def test_autocast_leaves_the_residual_stream_in_full_precision(option: str):
    module = build(option, sizes=sizes())
    for rows in (None, torch.randn(4, WIDTH)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert module(some_ids(), rows).dtype == torch.float32


@every_option
def test_a_spread_that_is_not_positive_is_refused(option: str):
    config = options.embedding(option)
    with pytest.raises(ValueError, match=r"std must be above 0, got 0\.0"):
        dataclasses.replace(config, std=0.0)
