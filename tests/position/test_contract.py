"""What every position option owes the model, deviations included."""

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Positions, refusal
from andrea_exp.position.beyond import Beyond
from tests import options

VOCAB, CONTEXT, WIDTH, HEADS = 19, 7, 12, 3
every_option = pytest.mark.parametrize("option", options.names("position"))


def build(option: str, *, causal: bool = True, layers: int = 2) -> Decoder:
    return options.decoder(
        options.model(causal=causal, num_layers=layers, init={"std": 0.3, "residual": "plain"}),
        position=options.position(option),
        embedding=options.embedding("table", std=0.5),
        output=options.output("untied"),
        used_vocab=VOCAB,
    )


def distinct_ids(count: int = CONTEXT) -> Tensor:
    """Two sequences that share no token."""
    order = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(0))
    return order[: 2 * count].view(2, count)


def first(count: int, *, offset: int = 0, length: int = CONTEXT) -> Positions:
    return Positions(index=torch.arange(count) + offset, length=length)


def reads_only_its_past(model: Decoder, ids: Tensor) -> bool:
    """Whether the scores at each place depend on the tokens up to it, on all, and on no other."""
    table = model.embedding.token_rows()
    logits = model(ids)
    for place in range(ids.shape[1]):
        (gradient,) = torch.autograd.grad(logits[0, place].square().sum(), table, retain_graph=True)
        read = set(gradient.abs().sum(dim=1).nonzero().flatten().tolist())
        if read != set(ids[0, : place + 1].tolist()):
            return False
    return True


@every_option
def test_no_score_depends_on_a_later_token_or_another_sequence(option: str):
    assert reads_only_its_past(build(option), distinct_ids())


@every_option
def test_without_the_causal_mask_scores_do_depend_on_later_tokens(option: str):
    assert not reads_only_its_past(build(option, causal=False), distinct_ids())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@every_option
def test_shapes_and_dtypes_are_kept(option: str, dtype: torch.dtype):
    scheme = build(option).to(dtype).position
    rows = scheme.rows(first(4))
    if rows is not None:
        added = written(rows, dtype=dtype)
        assert (added.shape, added.dtype) == (rows.shape, dtype) == ((4, WIDTH), dtype)
        assert added.isfinite().all()
    vectors = torch.randn(2, HEADS, 4, WIDTH // HEADS).to(dtype)
    turned = scheme.turn(vectors, first(4))
    assert (turned.shape, turned.dtype, turned.device) == (vectors.shape, dtype, vectors.device)
    bias = scheme.bias(first(4))
    assert bias is None or bias.shape == (HEADS, 4, 4)


@every_option
def test_only_a_scheme_with_rows_of_its_own_notices_a_common_shift(option: str):
    model = build(option).double()
    ids = distinct_ids(4)
    here = model(ids, positions=first(4))
    there = model(ids, positions=first(4, offset=3))
    change = (here - there).abs().max().item()
    assert change < 1e-12 if model.position.table() is None else change > 1e-4


@every_option
def test_positions_that_are_spelt_out_give_what_the_default_gives(option: str):
    model, ids = build(option), distinct_ids()
    assert torch.equal(model(ids), model(ids, positions=first(CONTEXT)))


@every_option
def test_a_prefix_scores_the_same_whatever_follows(option: str):
    model, ids = build(option).double(), distinct_ids()
    torch.testing.assert_close(model(ids)[:, :4], model(ids[:, :4]), rtol=0, atol=1e-12)


@every_option
def test_a_longer_sequence_works_or_is_refused_with_both_lengths(option: str):
    length = 2 * CONTEXT + 3
    model = build(option)
    ids = torch.arange(length).remainder(VOCAB)[None]
    reason = refusal(model.position, length=length)
    if reason is None and model.position.past_label() != Beyond.window.name:
        scores = model(ids)
        assert scores.shape == (1, length, VOCAB)
        assert scores.isfinite().all()
    else:
        with pytest.raises(ValueError, match=f"{CONTEXT} trained") as caught:
            model(ids)
        assert reason is None or str(caught.value) == reason


@every_option
def test_autocast_to_bfloat16_stays_near_full_precision(option: str):
    model, ids = build(option), distinct_ids()
    full = model.losses(ids, ids)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = model.losses(ids, ids)
        stream = model.states(ids)
    assert half.dtype == torch.float32
    assert 0 < (half - full).abs().max() < 0.1
    assert {state.dtype for state in stream} == {torch.float32}


@every_option
def test_equal_seeds_draw_equal_parameters_and_buffers(option: str):
    one, same = build(option).position, build(option).position
    other = build(option)
    other.initialise(1)
    for name, tensor in one.named_parameters():
        assert torch.equal(tensor, same.get_parameter(name))
        assert not torch.equal(tensor, other.position.get_parameter(name))
    for name, tensor in one.named_buffers():
        assert torch.equal(tensor, same.get_buffer(name))


@every_option
def test_acting_in_attention_is_turning_or_biasing(option: str):
    scheme = build(option).position
    vectors = torch.randn(2, HEADS, 4, WIDTH // HEADS)
    acts = scheme.bias(first(4)) is not None or not torch.equal(
        scheme.turn(vectors, first(4)), vectors
    )
    assert scheme.acts_in_attention == acts


@every_option
def test_trained_parameters_belong_to_positions_exactly_where_a_length_is_named(option: str):
    scheme = build(option).position
    count = sum(parameter.numel() for parameter in scheme.parameters())
    length = scheme.trained_length()
    assert count == (0 if length is None else length * WIDTH)
