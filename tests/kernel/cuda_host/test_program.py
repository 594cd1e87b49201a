"""CUDA kernels on the CPU: what the emulator computes, and what it refuses."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.kernel.cuda_host.program import HostProgram, KernelFault, Order

KERNELS = Path(__file__).with_name("kernels.cu")
every_order = pytest.mark.parametrize("order", Order)


def run(
    kernel: str,
    *arguments: Tensor | int | float,
    grid: tuple[int, int, int] = (1, 1, 1),
    order: Order = Order.ASCENDING,
    seed: int = 0,
) -> None:
    """One launch with two warps per block."""
    program = HostProgram(KERNELS, order=order, seed=seed)
    program.launch(kernel, grid=grid, block=64, arguments=arguments)


def some_numbers() -> Tensor:
    return torch.randn(64, generator=torch.Generator().manual_seed(0))


def by_halves(numbers: Tensor) -> Tensor:
    while len(numbers) > 1:
        first, second = numbers.chunk(2)
        numbers = first + second
    return numbers


def sums(kernel: str) -> list[float]:
    """What a kernel makes of the same numbers in different orders."""
    found: list[float] = []
    for order in Order:
        for seed in range(3):
            total = torch.zeros(1)
            run(kernel, total, some_numbers(), order=order, seed=seed)
            found.append(total.item())
    return found


def test_a_sum_is_the_same_in_every_order():
    assert set(sums("sum_f32")) == {by_halves(some_numbers()).item()}


def test_a_missing_barrier_shows_in_the_bits():
    assert len(set(sums("sum_without_waiting"))) > 1


def test_one_seed_is_one_order():
    total = [torch.zeros(1) for _ in range(2)]
    for each in total:
        run("sum_without_waiting", each, some_numbers(), order=Order.SHUFFLED, seed=5)
    assert torch.equal(*total)


@every_order
def test_lanes_show_each_other_their_values(order: Order):
    shown, got = some_numbers().double(), torch.empty(5, 2, 32, dtype=torch.float64)
    run("ask_lanes", got, shown, order=order)
    lane = torch.arange(32)
    rows = shown.view(2, 32)
    assert torch.equal(got[0], rows[:, 5:6].expand(2, 32))
    assert torch.equal(got[1], rows[:, lane ^ 9])
    assert torch.equal(got[2], rows[:, torch.where(lane + 3 < 32, lane + 3, lane)])
    assert torch.equal(got[3], rows[:, torch.where(lane < 3, lane, lane - 3)])
    votes = ((rows < 0).long() << lane).sum(1)
    assert torch.equal(got[4], votes.double()[:, None].expand(2, 32))


@every_order
def test_every_thread_of_every_block_runs_once(order: Order):
    places = torch.full((4, 3, 2, 64, 5), -1)
    run("where", places, grid=(2, 3, 4), order=order)
    z, y, x, thread = torch.meshgrid(*map(torch.arange, (4, 3, 2, 64)), indexing="ij")
    assert torch.equal(places, torch.stack([x, y, z, thread, torch.zeros_like(x)], dim=-1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_tensors_are_read_and_written_in_their_own_precision(dtype: torch.dtype):
    suffix = {torch.float32: "f32", torch.float64: "f64", torch.bfloat16: "bf16"}[dtype]
    numbers = torch.randn(150, generator=torch.Generator().manual_seed(0)).to(dtype)
    scaled = torch.empty_like(numbers)
    run(f"scale_{suffix}", scaled, numbers, 150, 1.75, grid=(3, 1, 1))
    assert torch.equal(scaled, numbers * 1.75)


def test_a_tensor_may_be_given_twice():
    numbers = torch.ones(64)
    run("scale_f32", numbers, numbers[:10], 64, 3.0)
    assert (numbers == 3).all()
    with pytest.raises(AssertionError, match="tensors overlap"):
        run("scale_f32", numbers, numbers[1:], 63, 3.0)


def test_a_product_and_a_sum_are_two_roundings_unless_the_source_says_one():
    exact = 1 + 2**-12
    results = torch.empty(2)
    run("round_twice_or_once", results, torch.tensor([exact, exact, -1.0]))
    assert results.tolist() == [2**-11, 2**-11 + 2**-24]


def test_programs_in_one_process_keep_their_kernels_apart(tmp_path: Path):
    numbers = torch.zeros(2, 32)
    for index, row in enumerate(numbers):
        source = tmp_path / f"{index}.cu"
        body = f"numbers[threadIdx.x] = {index + 1};"
        source.write_text(f'extern "C" __global__ void put(float* numbers) {{ {body} }}\n')
        HostProgram(source).launch("put", grid=(1, 1, 1), block=32, arguments=[row])
    assert numbers[:, 0].tolist() == [1, 2]


def test_a_failed_assertion_names_its_place_and_thread():
    numbers = torch.arange(64)
    run("demand", numbers, 64)
    with pytest.raises(KernelFault, match=r"kernels\.cu:\d+: .*< limit.* failed .*thread 63"):
        run("demand", numbers, 63)
    run("demand", numbers, 64)


@every_order
@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("wait_for_the_ended", r"0 to 31 at .*kernels\.cu:\d+, 32 to 63 have ended"),
        ("wait_apart", r"0 to 31 at .*kernels\.cu:\d+, 32 to 63 at .*kernels\.cu:\d+"),
        ("ask_a_lane_that_waits", r"0 to 6 at .*, 7 to 7 at .*, 8 to 31 at .*, 32 to 63 at"),
        ("ask_half_a_warp", "not all lanes of the warp"),
    ],
)
def test_waiting_for_a_thread_that_never_comes_is_an_error(kernel: str, said: str, order: Order):
    with pytest.raises(KernelFault, match=said):
        run(kernel, torch.zeros(64), order=order)


@pytest.mark.parametrize("place", [-1, -4096, 64, 64 + 4095])
def test_writing_beside_a_tensor_is_an_error(place: int):
    side = "before" if place < 0 else "after"
    with pytest.raises(KernelFault, match=rf"write_at wrote {side} a tensor of shape \(64,\)"):
        run("write_at", torch.zeros(64), place)
    with pytest.raises(KernelFault, match=f"copy_at wrote {side}"):
        run("copy_at", torch.zeros(64), torch.zeros(64), place)


def test_beside_a_tensor_there_is_nan():
    target = torch.zeros(128)
    run("copy_at", target, torch.zeros(64), 64)
    assert target[64].isnan()


def test_an_index_past_an_array_is_an_error():
    numbers = torch.zeros(64)
    run("index_an_array", numbers, 0)
    assert (numbers == 1).all()
    with pytest.raises(KernelFault, match=r"kernels\.cu:\d+: index 64 is outside of the array"):
        run("index_an_array", numbers, 1)


def test_a_crooked_address_is_an_error():
    numbers = torch.ones(64)
    run("read_four", numbers, 4)
    assert numbers[0] == 4
    for view, place in ((numbers, 3), (numbers[1:], 0)):
        with pytest.raises(KernelFault, match=r"kernels\.cu:\d+: an address is not a multiple"):
            run("read_four", view, place)
    run("read_four", numbers[1:], 3)


def test_shared_memory_starts_as_nan_in_every_block():
    numbers = torch.zeros(3)
    run("read_the_unwritten", numbers, grid=(3, 1, 1))
    assert numbers.isnan().all()


def test_a_dependence_between_blocks_shows_in_the_bits():
    found: set[float] = set()
    for order in Order:
        number = torch.zeros(1)
        run("depend_on_other_blocks", number, grid=(4, 1, 1), order=order)
        found.add(number.item())
    assert len(found) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([torch.zeros(64)], "1 arguments, not 2"),
        ([torch.zeros(64), 1.0], "of kind f, not i"),
        ([torch.zeros(64), torch.zeros(64)], "of kind p, not i"),
    ],
)
def test_arguments_that_a_kernel_does_not_take_are_an_error(arguments: list[Tensor], said: str):
    with pytest.raises(KernelFault, match=said):
        run("write_at", *arguments)


def test_an_unknown_kernel_is_an_error():
    with pytest.raises(KernelFault, match="sum_f16: there is no such kernel"):
        run("sum_f16", torch.zeros(1))


def test_what_does_not_compile_is_an_error_with_the_compilers_words(tmp_path: Path):
    source = tmp_path / "broken.cu"
    source.write_text('extern "C" __global__ void broken(float* numbers) { nubmers[0] = 1; }\n')
    with pytest.raises(KernelFault, match=r"broken\.cu:1:.*nubmers.* was not declared"):
        HostProgram(source)
