"""The three backends of a model together."""

import torch

from andrea_exp.kernel.attention.torch import attend
from tests import options
from tests.kernel.contract import some_use


def test_the_reference_runs_everywhere():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for backend in options.kernel().backends().values():
            assert backend.reasons(some_use(device=torch.device("cpu"), dtype=dtype)) == []


def test_what_runs_is_named_by_operation():
    names = options.kernel().runs_as(some_use(device=torch.device("cpu")))
    assert list(names) == ["embedding", "attention", "cross_entropy"]
    assert all(name.startswith("torch") for name in names.values())


def test_what_is_built_is_one_function_per_operation():
    kernels = options.kernel().build()
    assert kernels.attention is attend
    assert kernels._fields == ("embedding", "attention", "cross_entropy")
