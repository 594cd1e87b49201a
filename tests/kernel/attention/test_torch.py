"""The reference backend of `attention`."""

from typing import Any

import pytest
import torch

from andrea_exp.kernel.attention.torch import TorchConfig, attend
from tests.kernel.contract import some_use

TORCH = TorchConfig(name="torch")
CPU = torch.device("cpu")
BY_NAME = {
    "torch (flash)": "aten::_scaled_dot_product_flash_attention_for_cpu",
    "torch (math)": "aten::_scaled_dot_product_attention_math",
}
"""What a run records -> the operator that torch's profiler sees on the CPU."""
CASES: dict[str, dict[str, Any]] = {
    "causal": {},
    "every key seen": {"causal": False},
    "fixed bias": {"biased": True},
    "learned bias": {"biased": True, "bias_learned": True},
    "dropout": {"dropout": 0.1},
    "one token": {"length": 1},
    "odd heads": {"width": 3 * 20},
}


def test_it_runs_everywhere_and_is_a_plain_function():
    assert TORCH.reasons(some_use(device=torch.device("cuda"), dtype=torch.bfloat16)) == []
    assert TORCH.build() is attend


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("case", CASES)
def test_what_a_run_records_is_the_kernel_that_ran(case: str, dtype: torch.dtype):
    use = some_use(device=CPU, dtype=dtype, **CASES[case])
    width = use.width // use.heads
    shape = (use.batch, use.length, 3, use.heads, width)
    query, key, value = torch.ones(shape, dtype=dtype, requires_grad=True).permute(2, 0, 3, 1, 4)
    bias = torch.zeros(use.heads, use.length, use.length, requires_grad=use.bias_learned)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        attend(
            query,
            key,
            value,
            bias=bias if use.biased else None,
            causal=use.causal,
            dropout=use.dropout,
        )
    ran = {event.name for event in profile.events() or []}
    assert {label for label, operator in BY_NAME.items() if operator in ran} == {TORCH.runs_as(use)}


def test_on_the_cpu_a_gradient_of_the_bias_decides():
    kinds = [TORCH.runs_as(some_use(device=CPU, **CASES[case])) for case in CASES]
    assert set(kinds) == set(BY_NAME)
    assert kinds[2:4] == ["torch (flash)", "torch (math)"]


def test_asking_takes_no_memory():
    endless = some_use(device=CPU, batch=10**4, length=10**5, biased=True)
    assert TORCH.runs_as(endless) == "torch (flash)"


def test_two_tokens_by_hand():
    query = torch.tensor([[[[1.0], [2.0]]]])
    value = torch.tensor([[[[3.0], [5.0]]]])
    bias = torch.tensor([[[0.0, 9.0], [4.0, 2.0]]])
    mixed = attend(query, query, value, bias=bias, causal=True, dropout=0.0)
    # Scores of the second query: 2 * 1 + 4 and 2 * 2 + 2, so equal weights.
    assert mixed.flatten().tolist() == [3.0, 4.0]
