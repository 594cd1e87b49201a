"""The Triton backend of `attention`: what it refuses, its operator, and its code for GPUs."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch import Tensor

from andrea_exp.kernel.attention.base import AttentionOp
from andrea_exp.kernel.attention.triton import TritonConfig
from tests import options
from tests.kernel.contract import DEVICE, noise, skip_where_it_cannot_run, some_use

TRITON = TritonConfig(name="triton")


def built(dtype: torch.dtype = torch.float32) -> AttentionOp:
    skip_where_it_cannot_run(TRITON, dtype)
    return TRITON.build()


def arguments(length: int) -> list[Tensor]:
    """Query, key, value and bias."""
    vectors = noise(2, length, 3, 3, 8, seed=0, dtype=torch.float32).permute(2, 0, 3, 1, 4)
    bias = noise(3, length, length, seed=1, dtype=torch.float32)
    return [tensor.requires_grad_() for tensor in (*vectors, bias)]


def test_dropout_is_refused_with_the_backend_that_can():
    *_, reason = TRITON.reasons(some_use(dropout=0.1))
    assert "model.dropout is 0.1" in reason
    assert "kernel/attention=torch" in reason
    query, *_ = arguments(3)
    with pytest.raises(ValueError, match=r"drops no weights; dropout is 0\.1"):
        built()(query, query, query, bias=None, causal=True, dropout=0.1)


def test_a_head_wider_than_its_blocks_is_refused_with_its_width():
    *_, reason = TRITON.reasons(some_use(width=3 * 257))
    assert "a head of 257 features is wider than 256" in reason
    *_, reason = TRITON.reasons(some_use(width=3 * 129, dtype=torch.float64))
    assert "a head of 129 features is wider than 128" in reason
    assert "wider" not in "".join(TRITON.reasons(some_use(width=3 * 256)))


def test_what_it_is_built_from_is_one_operator():
    assert built() is built()


@pytest.mark.parametrize("biased", [False, True])
def test_torch_can_trace_and_derive_the_operator(biased: bool):
    built()
    operator = torch.ops.andrea_exp.triton_attention.default
    *given, bias = arguments(5)
    torch.library.opcheck(operator, (*given, bias if biased else None), {"causal": True})


@pytest.mark.parametrize("of_bias", [False, True])
def test_torch_can_trace_the_operator_of_gradients(of_bias: bool):
    built()
    given = [tensor.detach() for tensor in arguments(5)]
    left = torch.ops.andrea_exp.triton_attention(*given, causal=True)
    flags = {"causal": True, "of_bias": of_bias}
    operator = torch.ops.andrea_exp.triton_attention_backward.default
    torch.library.opcheck(
        operator,
        (*given, *left, torch.ones_like(left[0])),
        flags,
        test_utils=("test_schema", "test_faketensor"),
    )
    found = operator(*given, *left, torch.ones_like(left[0]), **flags)
    assert len(found) == 3 + of_bias


def test_a_query_from_which_every_key_is_hidden_gets_zeros():
    query, key, value, _ = arguments(5)
    hiding = torch.zeros(3, 5, 5, device=DEVICE)
    hiding[:, 3] = float("-inf")
    mixed = built()(query, key, value, bias=hiding, causal=True, dropout=0.0)
    assert (mixed[:, :, 3] == 0).all()
    gradients = torch.autograd.grad(mixed.sum(), [query, key, value])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][:, :, 3] == 0).all()


def test_heads_come_out_joined_in_memory():
    query, *_ = arguments(5)
    mixed = built()(query, query, query, bias=None, causal=True, dropout=0.0)
    assert mixed.transpose(1, 2).is_contiguous()
    assert mixed.device.type == DEVICE.type


# A process of its own: here the interpreter takes the place of the compiler.
PROGRAM = """
import sys
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from andrea_exp.kernel.attention import triton_kernels, triton_launch
from andrea_exp.kernel.attention.operator import Given

capability, width = int(sys.argv[1]), int(sys.argv[2])
TYPES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float64: "fp64"}
NAMES = [name for name in vars(triton_kernels) if name.endswith("_kernel")]


class Compiled:
    '''Stands where a kernel is launched, and compiles it for what it is launched with.'''

    def __init__(self, name):
        self.name, self.kernel = name, getattr(triton_kernels, name)

    def __getitem__(self, grid):
        return self.compile

    def compile(self, *arguments, num_warps, num_stages, **constants):
        signature, known, aligned = {}, {}, {}
        for index, name in enumerate(self.kernel.arg_names):
            value = arguments[index] if index < len(arguments) else constants[name]
            if isinstance(value, tuple):
                signature[name] = tuple(
                    self.of(element, (index, place), known, aligned)
                    for place, element in enumerate(value)
                )
            else:
                signature[name], known[index,] = "constexpr", value
        source = ASTSource(fn=self.kernel, signature=signature, constexprs=known, attrs=aligned)
        options = {"num_warps": num_warps, "num_stages": num_stages}
        made = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
        print(self.name, made.metadata.shared)

    def of(self, element, path, known, aligned):
        if isinstance(element, torch.Tensor):
            aligned[path] = [["tt.divisibility", 16]]
            return "*" + TYPES[element.dtype]
        if element == 1:
            known[path] = 1
            return "constexpr"
        return "i32"


for name in NAMES:
    setattr(triton_kernels, name, Compiled(name))
for dtype in sys.argv[3:]:
    vectors = torch.empty(3, 2, 2, 7, width, dtype=getattr(torch, dtype))
    for bias in (torch.empty(2, 7, 7), None):
        given = Given(*vectors, bias)
        left = triton_launch.forward(given, causal=True)
        triton_launch.backward(given, left, left.output, causal=True, of_bias=bias is not None)
"""
KILOBYTE = 1024
MOST = {80: 99 * KILOBYTE, 90: 227 * KILOBYTE, 100: 227 * KILOBYTE}
"""Shared memory of a program; for 8.0 that of 8.6 and 8.9, which run its code and have less."""


def compiled(capability: int, width: int, *dtypes: str) -> list[tuple[str, int]]:
    """Kernels and their bytes of shared memory, for each dtype with a bias and without."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(capability), str(width), *dtypes],
        cwd=options.PACKAGE.parent,
        env={**os.environ, "TRITON_INTERPRET": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [(name, int(shared)) for name, shared in map(str.split, done.stdout.splitlines())]


@pytest.mark.slow
@pytest.mark.parametrize("capability", MOST)
def test_every_kernel_compiles_for_a_gpu(
    capability: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    made = compiled(capability, 8, "float32", "bfloat16")
    assert Counter(name for name, _ in made) == {
        "forward_kernel": 4,
        "delta_kernel": 4,
        "query_gradient_kernel": 4,
        "key_value_gradient_kernel": 4,
        "bias_gradient_kernel": 2,
    }
    assert max(shared for _, shared in made) <= MOST[capability]


@pytest.mark.slow
def test_the_largest_blocks_fit_into_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert 0 < max(shared for _, shared in compiled(80, 128, "bfloat16")) <= MOST[80]
