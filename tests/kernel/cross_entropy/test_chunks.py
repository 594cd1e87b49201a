"""Chunks of tokens: how long, what they cost and what may not depend on them."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

from andrea_exp.kernel.cross_entropy.chunked import ChunkedConfig
from andrea_exp.kernel.cross_entropy.chunks import chunk_rows, gradients, losses
from andrea_exp.kernel.cross_entropy.operator import Given, exact
from andrea_exp.kernel.cross_entropy.torch_rows import ROWS
from tests.kernel.contract import DEVICE, errors, noise, results


def test_logits_of_a_chunk_are_no_larger_than_features_or_weight():
    for rows, vocab, width in ((16_384, 50_257, 768), (2048, 8449, 256), (4096, 257, 128)):
        chosen = chunk_rows(rows=rows, vocab=vocab, width=width)
        larger = max(rows, vocab) * width
        assert chosen * vocab <= larger < (chosen + 1) * vocab
    assert chunk_rows(rows=1, vocab=50_257, width=1) == 1
    assert chunk_rows(rows=1, vocab=2, width=1) == 1


@final
class Allocations(TorchDispatchMode):
    """Notes the bytes of the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0

    @override
    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for each in result if isinstance(result, tuple | list) else [result]:
            if isinstance(each, Tensor):
                self.largest = max(self.largest, each.nbytes)
        return result


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_tensor_is_a_quarter_as_large_as_the_logits(dtype: torch.dtype):
    rows, vocab, width = 16_384, 50_257, 768
    given = Given(
        torch.empty(rows, width, dtype=dtype, device="meta"),
        torch.empty(vocab, width, dtype=dtype, device="meta"),
        torch.empty(rows, dtype=torch.int64, device="meta"),
    )
    with Allocations() as allocations:
        nats = losses(given, kernels=ROWS, rows=None)
        gradients(given, nats, kernels=ROWS, rows=None)
    assert 0 < allocations.largest <= rows * vocab * dtype.itemsize / 4
    with Allocations() as whole:
        losses(given, kernels=ROWS, rows=rows)
    assert whole.largest >= rows * vocab * dtype.itemsize


@pytest.mark.parametrize("rows", [1, 5, 16, 17, 1000])
def test_the_number_of_tokens_at_a_time_is_not_seen_in_the_results(rows: int):
    given = (
        noise(16, 4, seed=0).requires_grad_(),
        noise(9, 4, seed=1).requires_grad_(),
    )
    targets = torch.arange(16, device=DEVICE) % 9
    chosen = ChunkedConfig(name="chunked", rows=None).build()
    asked = ChunkedConfig(name="chunked", rows=rows).build()
    plain = results(chosen(*given, targets), given)
    assert max(errors(results(asked(*given, targets), given), plain)) < 1e-14


def test_no_tokens_have_no_losses():
    weight = noise(9, 4, seed=1, dtype=torch.float32).requires_grad_()
    none = torch.empty(0, dtype=torch.int64, device=DEVICE)
    nats = ChunkedConfig(name="chunked", rows=None).build()(weight[:0], weight, none)
    (gradient,) = torch.autograd.grad(nats.sum(), weight)
    assert nats.shape == (0,)
    assert (gradient == 0).all()


def test_a_weight_in_bfloat16_gets_a_gradient_that_was_summed_in_float32():
    # Each of 1024 chunks adds 1/2 to the same element; in bfloat16 the sum stops at 128.
    features = torch.ones(1024, 1, dtype=torch.bfloat16, device=DEVICE)
    weight = torch.zeros(2, 1, dtype=torch.bfloat16, device=DEVICE, requires_grad=True)
    targets = torch.zeros(1024, dtype=torch.int64, device=DEVICE)
    operation = ChunkedConfig(name="chunked", rows=1).build()
    (gradient,) = torch.autograd.grad(operation(features, weight, targets).sum(), weight)
    assert gradient.flatten().tolist() == [-512, 512]
    total = torch.zeros((), dtype=torch.bfloat16)
    for _ in range(1024):
        total += 0.5
    assert total == 128


def test_sums_are_at_least_float32():
    kept = {torch.float64: torch.float64, torch.float32: torch.float32}
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        assert exact(dtype) == kept.get(dtype, torch.float32)
