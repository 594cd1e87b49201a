"""The CUDA backend of `cross_entropy`, as far as the CPU can tell."""

import pytest
import torch

from andrea_exp.kernel import cuda_machine
from andrea_exp.kernel.cross_entropy.cuda import CudaConfig
from andrea_exp.kernel.cross_entropy.cuda_kernels import SOURCE, row_kernels
from andrea_exp.kernel.cross_entropy.torch_rows import ROWS
from tests.kernel.contract import DEVICE, errors, noise, some_use
from tests.kernel.cuda_host.program import HostProgram, Order

BACKEND = CudaConfig(name="cuda", rows=None)
on_the_cpu = pytest.mark.skipif(DEVICE.type != "cpu", reason="the emulator takes tensors of a CPU")


def test_it_runs_where_cuda_kernels_do():
    for device in ("cpu", "cuda"):
        use = some_use(device=torch.device(device))
        assert BACKEND.reasons(use) == cuda_machine.reasons(use)
    assert BACKEND.runs_as(some_use()) == "cuda"


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_it_compiles_without_a_warning_for_every_generation_of_gpu(architecture: str):
    cuda_program = pytest.importorskip("andrea_exp.kernel.cuda_program")
    assert len(cuda_program.compiled(SOURCE, architecture)) > 0


@on_the_cpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("vocab", [1, 3, 8, 31, 257, 1001, 4111])
def test_rows_of_any_length_and_any_beginning_are_those_of_torch(vocab: int, dtype: torch.dtype):
    # Rows of an odd length begin at every distance from an address that is a multiple of 16.
    kernels = row_kernels(HostProgram(SOURCE))
    logits, upstream = noise(9, vocab, seed=0), noise(9, seed=1)
    targets = torch.arange(9) * 1000 % vocab
    ours, plain = logits.to(dtype), logits.clone()
    nats = kernels.losses(ours, targets)
    kernels.gradient_(ours, targets, upstream.to(nats.dtype))
    unit = 4 * torch.finfo(nats.dtype).eps
    assert errors([nats], [ROWS.losses(plain, targets)])[0] < unit * float(nats.abs().max() + 1)
    ROWS.gradient_(plain, targets, upstream)
    assert errors([ours], [plain])[0] < (unit + torch.finfo(dtype).eps) * float(
        upstream.abs().max()
    )


@on_the_cpu
@pytest.mark.parametrize("order", [Order.DESCENDING, Order.SHUFFLED])
def test_no_bit_depends_on_whose_turn_it_is(order: Order):
    logits, targets = noise(3, 1001, seed=0, dtype=torch.float32), torch.arange(3)
    nats: list[torch.Tensor] = []
    gradients: list[torch.Tensor] = []
    for each in (Order.ASCENDING, order):
        kernels = row_kernels(HostProgram(SOURCE, order=each, seed=3))
        nats.append(kernels.losses(logits, targets))
        gradients.append(logits.clone())
        kernels.gradient_(gradients[-1], targets, torch.ones(3))
    assert torch.equal(*nats)
    assert torch.equal(*gradients)


@on_the_cpu
def test_a_row_with_a_nan_has_no_number_for_a_loss_and_other_rows_have():
    logits = noise(3, 300, seed=0, dtype=torch.float32)
    logits[1, 200] = float("nan")
    nats = row_kernels(HostProgram(SOURCE)).losses(logits, torch.arange(3))
    assert nats.isnan().tolist() == [False, True, False]


@on_the_cpu
def test_logits_of_minus_infinity_take_no_share():
    logits = noise(2, 300, seed=0, dtype=torch.float32)
    logits[:, 100:] = float("-inf")
    targets, cut = torch.tensor([0, 99]), logits[:, :100].contiguous()
    kernels = row_kernels(HostProgram(SOURCE))
    torch.testing.assert_close(kernels.losses(logits, targets), ROWS.losses(cut, targets))
    kernels.gradient_(logits, targets, torch.ones(2))
    assert (logits[:, 100:] == 0).all()
