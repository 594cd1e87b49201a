"""The learned table: its rows, their initial values and gradients, and what is past them."""

import pytest
import torch
from torch import Tensor

from andrea_exp.position.base import Positions, refusal
from andrea_exp.position.beyond import Beyond
from andrea_exp.position.learned import Learned
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes
from tests import options

TRAINED, WIDTH = 4, 6


def build(
    option: str = "learned",
    *,
    seed: int = 0,
    trained: int = TRAINED,
    width: int = WIDTH,
    **changes: object,
) -> Learned:
    sizes = Sizes(vocab=5, used_vocab=5, context=trained, d_model=width, num_heads=2, num_layers=1)
    scheme = options.position(option, **changes).build(sizes=sizes, token_scale=1.0)
    assert isinstance(scheme, Learned)
    scheme.initialise(torch_generator(seed, "init/position"))
    return scheme


def rows(scheme: Learned, length: int, beyond: Beyond | None = None) -> Tensor:
    return scheme.rows(Positions(index=torch.arange(length), length=length), beyond)


def test_a_table_has_as_many_rows_as_the_context_unless_told():
    assert build().table().shape == (TRAINED, WIDTH)
    assert build(rows=9).table().shape == (9, WIDTH)
    assert build(rows=9).trained_length() == TRAINED


def test_fewer_rows_than_the_context_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match=r"position\.rows=3 .* model\.context=4"):
        build(rows=3)


@pytest.mark.parametrize("rows_in_table", [None, 9])
def test_the_default_policy_refuses_and_names_what_would_work(rows_in_table: int | None):
    scheme = build(rows=rows_in_table)
    with pytest.raises(ValueError, match="exceeds") as caught:
        rows(scheme, 5)
    text = str(caught.value)
    assert text == refusal(scheme, length=5)
    assert text.startswith("a sequence of 5 exceeds the 4 trained positions of `learned`;")
    assert all(policy.name in text for policy in Beyond if policy is not Beyond.error)
    assert refusal(scheme, length=4) is None
    assert refusal(scheme, length=5, beyond=Beyond.clamp) is None


@pytest.mark.parametrize("policy", [p for p in Beyond if p not in (Beyond.error, Beyond.window)])
def test_the_declared_policy_and_the_same_one_asked_for_later_agree(policy: Beyond):
    declared = build(f"learned_{policy.name}")
    assert declared.past_label() == policy.name
    assert torch.equal(rows(declared, 9), rows(build(), 9, policy))
    assert torch.equal(rows(declared, TRAINED), rows(build(), TRAINED))


@pytest.mark.parametrize("policy", Beyond)
def test_inside_the_trained_length_all_policies_read_the_table(policy: Beyond):
    for scheme in (build(), build(rows=9)):
        for length in (1, TRAINED):
            assert torch.equal(rows(scheme, length, policy), scheme.table()[:length])


def test_fresh_rows_are_the_same_whatever_the_length():
    scheme = build("learned_fresh")
    longest = rows(scheme, 12)
    for length in (5, 7, 11):
        assert torch.equal(rows(scheme, length), longest[:length])
    some = scheme.rows(Positions(index=torch.tensor([10, 5]), length=12))
    assert torch.equal(some, longest[[10, 5]])
    assert len(longest.unique(dim=0)) == 12


def test_fresh_rows_are_drawn_as_the_others_were():
    scheme = build("learned_fresh", width=64, std=0.3)
    beyond = rows(scheme, 200)[TRAINED:]
    assert abs(beyond.std().item() / 0.3 - 1) < 0.03
    assert abs(beyond.mean().item()) < 0.01


def test_fresh_rows_follow_the_seed():
    assert torch.equal(rows(build("learned_fresh"), 9), rows(build("learned_fresh"), 9))
    other = rows(build("learned_fresh", seed=1), 9)
    assert (rows(build("learned_fresh"), 9) != other).all()


def test_a_longer_table_has_fresh_rows_of_its_own_and_only_that_policy_reads_them():
    scheme = build(rows=9)
    assert torch.equal(rows(scheme, 9, Beyond.fresh), scheme.table())
    with torch.no_grad():
        scheme.weight[TRAINED:] = float("nan")
    for policy in (Beyond.clamp, Beyond.wrap, Beyond.interpolate, Beyond.zero, Beyond.mean):
        assert rows(scheme, 9, policy).isfinite().all()
    assert rows(scheme, 9, Beyond.fresh)[TRAINED:].isnan().all()


def test_fresh_rows_need_a_seed():
    sizes = Sizes(vocab=5, used_vocab=5, context=4, d_model=6, num_heads=2, num_layers=1)
    scheme = options.position("learned_fresh").build(sizes=sizes, token_scale=1.0)
    with pytest.raises(RuntimeError, match="call `initialise` first"):
        scheme.rows(Positions(index=torch.arange(5), length=5))


def test_trained_rows_start_alike_whatever_the_length_of_the_table():
    assert torch.equal(build().table(), build(rows=9).table()[:TRAINED])
    assert torch.equal(build(rows=7).table()[:TRAINED], build(rows=9).table()[:TRAINED])


@pytest.mark.parametrize(
    ("option", "std"),
    [("learned", 0.02), ("learned_std01", 0.01), ("learned_std08", 0.08), ("learned_rsqrt", 0.125)],
)
def test_initial_rows_have_the_stated_spread(option: str, std: float):
    table = build(option, trained=400, width=64).table()
    assert abs(table.std().item() / std - 1) < 0.02
    assert abs(table.mean().item()) < 0.02 * std


def test_neighbours_in_a_fresh_table_are_unrelated():
    table = build(trained=128, width=64).table()
    cosine = torch.nn.functional.cosine_similarity(table[:-1], table[1:], dim=1).mean()
    assert abs(cosine.item()) < 4 * (64 * 127) ** -0.5


def test_a_row_gets_one_gradient_per_sequence_and_later_rows_none():
    scheme = build(rows=9)
    (torch.zeros(5, 3, WIDTH) + rows(scheme, 3)).sum().backward()
    assert scheme.weight.grad is not None
    assert scheme.weight.grad[:, 0].tolist() == [5, 5, 5, 0, 0, 0, 0, 0, 0]
