"""The three backends of a model together."""

import dataclasses

import torch
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.attention.torch import attend
from tests import options


@dataclasses.dataclass(kw_only=True, frozen=True)
class NeverHere(AttentionKernelConfig):
    @override
    def reasons(self, *, device: torch.device, dtype: torch.dtype) -> list[str]:
        return [f"no {device.type}", f"no {dtype}"]

    @override
    def build(self) -> AttentionOp:
        return attend


def test_the_chosen_backends_are_named_by_operation():
    assert options.kernel().chosen() == {
        "embedding": "torch",
        "attention": "torch",
        "cross_entropy": "torch",
    }


def test_the_reference_runs_everywhere():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert options.kernel().reasons(device=torch.device("cpu"), dtype=dtype) == []


def test_every_reason_names_its_operation_and_backend():
    mixed = dataclasses.replace(options.kernel(), attention=NeverHere(name="test_base"))
    assert mixed.reasons(device=torch.device("cpu"), dtype=torch.float32) == [
        "kernel/attention=test_base: no cpu",
        "kernel/attention=test_base: no torch.float32",
    ]


def test_what_is_built_is_one_function_per_operation():
    kernels = options.kernel().build()
    assert kernels.attention is attend
    assert kernels._fields == ("embedding", "attention", "cross_entropy")
