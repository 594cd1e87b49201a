"""Positions of a batch, and the refusal of a length."""

import torch

from andrea_exp.kernel.embedding.sinusoid import written
from andrea_exp.position.base import Positions, refusal
from andrea_exp.position.beyond import Beyond
from andrea_exp.shapes import Sizes
from tests import options

SIZES = Sizes(vocab=5, used_vocab=5, context=4, d_model=6, num_heads=3, num_layers=1)


def test_the_first_positions_count_from_zero_in_a_sequence_as_long_or_longer():
    here = torch.device("cpu")
    assert Positions.first(3, device=here).index.tolist() == [0, 1, 2]
    assert Positions.first(3, device=here).length == 3
    assert Positions.first(3, length=9, device=here).length == 9


def test_a_scheme_without_rows_of_its_own_is_never_refused():
    for option in ("sinusoidal", "rope", "alibi", "none"):
        scheme = options.position(option).build(sizes=SIZES, token_scale=1.0)
        assert refusal(scheme, length=1000) is None
        assert refusal(scheme, length=1000, beyond=Beyond.error) is None


def test_a_policy_asked_for_replaces_the_declared_one_in_both_directions():
    strict = options.position("learned").build(sizes=SIZES, token_scale=1.0)
    lenient = options.position("learned_wrap").build(sizes=SIZES, token_scale=1.0)
    assert refusal(strict, length=5) is not None
    assert refusal(strict, length=5, beyond=Beyond.wrap) is None
    assert refusal(lenient, length=5) is None
    assert refusal(lenient, length=5, beyond=Beyond.error) == refusal(strict, length=5)


def test_a_policy_asked_for_leaves_schemes_without_trained_rows_as_they_are():
    where = Positions.first(9, device=torch.device("cpu"))
    scheme = options.position("sinusoidal").build(sizes=SIZES, token_scale=1.0)
    scheme.initialise(torch.Generator())
    plain = scheme.rows(where)
    asked = scheme.rows(where, Beyond.zero)
    assert plain is not None
    assert asked is not None
    assert torch.equal(*(written(rows, dtype=torch.float32) for rows in (plain, asked)))
