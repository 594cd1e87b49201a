"""Streams are functions of seed and purpose alone."""

import hashlib

import numpy as np
import torch

from andrea_exp.seeding import derive, numpy_generator, torch_generator


def test_a_derived_seed_is_the_head_of_a_hash():
    for seed, purpose in [(0, "init/position"), (11, "data")]:
        digest = hashlib.sha256(f"{seed}/{purpose}".encode()).hexdigest()
        assert derive(seed, purpose) == int(digest[:16], 16) // 2


def test_derived_seeds_do_not_change_between_versions():
    assert derive(0, "init/position") == 6441325721779746686
    assert derive(1, "init/position") == 2158254862566661108


def test_every_seed_and_purpose_has_a_seed_of_its_own():
    purposes = ["a", "b", "1/a", "a/1"]
    derived = [derive(seed, purpose) for seed in (0, 1, 11) for purpose in purposes]
    assert len(set(derived)) == len(derived)
    assert all(0 <= number < 2**63 for number in derived)


def test_torch_streams_repeat_and_differ_by_purpose():
    def draw(seed: int, purpose: str) -> torch.Tensor:
        return torch.randn(5, generator=torch_generator(seed, purpose))

    assert torch.equal(draw(3, "a"), draw(3, "a"))
    assert not torch.equal(draw(3, "a"), draw(3, "b"))
    assert not torch.equal(draw(3, "a"), draw(4, "a"))


def test_numpy_items_repeat_in_any_order_and_differ():
    forward = [numpy_generator(3, "a", index).random(4) for index in range(3)]
    backward = [numpy_generator(3, "a", index).random(4) for index in (2, 1, 0)]
    assert np.array_equal(forward, backward[::-1])
    assert len({tuple(row) for row in forward}) == 3


def test_streams_leave_the_global_generators_alone():
    state = torch.random.get_rng_state()
    torch.randn(5, generator=torch_generator(3, "a"))
    numpy_generator(3, "a").random()
    assert torch.equal(torch.random.get_rng_state(), state)
