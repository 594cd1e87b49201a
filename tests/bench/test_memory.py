"""The peak of an allocator is told, never guessed."""

import torch

from andrea_exp.bench.memory import peak_bytes

CPU = torch.device("cpu")


def test_the_peak_counts_what_is_freed_before_the_end():
    numbers = torch.ones(1000)

    def two_at_once() -> torch.Tensor:
        return (numbers + 1).sum()

    def three_at_once() -> torch.Tensor:
        return ((numbers + 1) * (numbers + 2)).sum()

    assert 4000 <= peak_bytes(two_at_once, CPU) < 8000
    assert 12_000 <= peak_bytes(three_at_once, CPU) < 16_000


def test_what_allocates_nothing_has_a_peak_of_nothing():
    numbers = torch.ones(1000)
    assert peak_bytes(lambda: numbers.view(10, 100), CPU) == 0
