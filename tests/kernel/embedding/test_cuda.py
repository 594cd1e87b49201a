"""The CUDA backend of `embedding`, as far as the CPU can tell."""

import re

import pytest
import torch

from andrea_exp.kernel import cuda_machine
from andrea_exp.kernel.embedding import cuda_kernels
from andrea_exp.kernel.embedding.cuda import CudaConfig
from andrea_exp.kernel.embedding.cuda_kernels import SOURCE, CudaKernels
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from tests.kernel.contract import DEVICE, some_use
from tests.kernel.cuda_host.program import HostProgram, KernelFault, Order

BACKEND = CudaConfig(name="cuda")
on_the_cpu = pytest.mark.skipif(DEVICE.type != "cpu", reason="the emulator takes tensors of a CPU")


def test_it_runs_where_cuda_kernels_do():
    for device in ("cpu", "cuda"):
        use = some_use(device=torch.device(device))
        assert BACKEND.reasons(use) == cuda_machine.reasons(use)
    assert BACKEND.runs_as(some_use()) == "cuda"


def test_both_languages_agree_on_the_sizes_of_their_blocks():
    constants = dict(re.findall(r"constexpr int (\w+) = (\d+);", SOURCE.read_text()))
    assert int(constants["kSequences"]) == cuda_kernels.SEQUENCES
    assert int(constants["kTile"]) == cuda_kernels.TILE


@on_the_cpu
@pytest.mark.parametrize("width", [24, 7])
@pytest.mark.parametrize("order", [Order.DESCENDING, Order.SHUFFLED])
def test_no_bit_depends_on_whose_turn_it_is(order: Order, width: int):
    ids = torch.randint(5, (3, 63), generator=torch.Generator().manual_seed(0))
    table, upstream = torch.randn(9, width), torch.randn(3, 63, width)
    vectors: list[torch.Tensor] = []
    gradients: list[torch.Tensor] = []
    for each in (Order.ASCENDING, order):
        kernels = CudaKernels(HostProgram(SOURCE, order=each, seed=3))
        vectors.append(kernels.gather(ids, table, upstream[0], multiplier=2.5))
        gradients.append(kernels.table_gradient(ids, upstream, vocab=9, multiplier=2.5))
    assert torch.equal(*vectors)
    assert torch.equal(*gradients)


@on_the_cpu
@pytest.mark.parametrize("rows", ["none", "written", "computed"])
@pytest.mark.parametrize("wrong", [-1, 9])
def test_a_kernel_asserts_that_ids_are_in_the_table(wrong: int, rows: str):
    kernels, ids = CudaKernels(HostProgram(SOURCE)), torch.zeros(6, 5, dtype=torch.int64)
    ids[5, 3] = wrong
    index = torch.arange(5)
    added = {
        "none": None,
        "written": torch.zeros(5, 8),
        "computed": Sinusoid(index=index, width=8, base=10.0, multiplier=1.0),
    }
    with pytest.raises(KernelFault, match="a token id is outside the token table"):
        kernels.gather(ids, torch.zeros(9, 8), added[rows], multiplier=1.0)
