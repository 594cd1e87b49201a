"""Every backend of `cross_entropy` against the logarithm of a softmax in float64."""

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from andrea_exp.kernel.base import KernelConfig
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig
from andrea_exp.kernel.cross_entropy.torch import losses
from tests import options
from tests.kernel.contract import (
    DEVICE,
    SIZES,
    assert_as_exact_as_torch,
    errors,
    noise,
    poisoned,
    results,
    strided,
)
from tests.kernel.cross_entropy.subjects import NAMES, operation

VOCAB, WIDTH = 19, 8
Pair = tuple[Tensor, Tensor]
every_backend = pytest.mark.parametrize("name", NAMES)


def inputs(
    rows: int, *, vocab: int = VOCAB, width: int = WIDTH, dtype: torch.dtype = torch.float64
) -> Pair:
    features = noise(rows, width, seed=0, dtype=dtype)
    return features.requires_grad_(), noise(vocab, width, seed=1, dtype=dtype).requires_grad_()


def targets(rows: int) -> Tensor:
    return torch.arange(rows, device=DEVICE) * 7 % VOCAB


def naive(given: Pair, wanted: Tensor) -> Tensor:
    """One target at a time."""
    features, weight = given
    scores = features @ weight.T
    chosen = [scores[row, target] for row, target in enumerate(wanted.tolist())]
    return scores.exp().sum(dim=1).log() - torch.stack(chosen)


@pytest.mark.parametrize("rows", SIZES)
@every_backend
def test_losses_and_gradients_in_float64_are_those_of_the_definition(name: str, rows: int):
    given, wanted = inputs(rows), targets(rows)
    found = results(operation(name, torch.float64)(*given, wanted), given)
    assert max(errors(found, results(naive(given, wanted), given))) < 1e-11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", SIZES)
@every_backend
def test_no_backend_is_less_exact_than_torch(name: str, rows: int, dtype: torch.dtype):
    exact, given, wanted = inputs(rows), inputs(rows, dtype=dtype), targets(rows)
    compute = operation(name, dtype)
    assert compute(*given, wanted).dtype == torch.float32
    assert_as_exact_as_torch(
        results(compute(*given, wanted), given),
        results(losses(*given, wanted), given),
        results(naive(exact, wanted), exact),
        precision=dtype,
    )


SABOTEURS: dict[str, Callable[[Pair, Tensor], Tensor]] = {
    "next row's target": lambda given, wanted: naive(given, wanted.roll(1)),
    "one id left out of the sum": lambda given, wanted: naive(
        (given[0], given[1][:-1]), wanted % 18
    ),
    "a mean": lambda given, wanted: naive(given, wanted).mean().expand(len(wanted)),
}


@pytest.mark.parametrize("saboteur", SABOTEURS)
@every_backend
def test_a_wrong_target_sum_or_reduction_is_noticed(name: str, saboteur: str):
    given, wanted = inputs(5), targets(5)
    found = operation(name, torch.float64)(*given, wanted)
    assert errors([found], [SABOTEURS[saboteur](given, wanted)])[0] > 1e-3


@every_backend
def test_gradients_for_the_next_row_s_upstream_are_noticed(name: str):
    given, wanted = inputs(5), targets(5)
    _, *found = results(operation(name, torch.float64)(*given, wanted), given)
    upstream = noise(5, seed=99)
    right = torch.autograd.grad(naive(given, wanted), given, upstream)
    wrong = torch.autograd.grad(naive(given, wanted), given, upstream.roll(1))
    assert max(errors(found, list(right))) < 1e-11
    assert min(errors(found, list(wrong))) > 1e-3


@every_backend
def test_gradients_are_those_of_finite_differences(name: str):
    compute, wanted = operation(name, torch.float64), targets(3) % 5
    features = noise(3, 4, seed=2).requires_grad_()
    weight = noise(5, 4, seed=3).requires_grad_()

    def three_losses(features: Tensor, weight: Tensor) -> Tensor:
        # Many backward passes are asked for, and `in_place` needs a forward pass for each.
        return checkpoint(compute, features, weight, wanted, use_reentrant=False)

    assert torch.autograd.gradcheck(three_losses, (features, weight))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("vocab", [1, 2, 257, 5000])
@every_backend
def test_a_table_may_have_any_number_of_rows(name: str, vocab: int, dtype: torch.dtype):
    compute, rows, width = operation(name, dtype), 13, 5
    exact = inputs(rows, vocab=vocab, width=width)
    given, wanted = inputs(rows, vocab=vocab, width=width, dtype=dtype), targets(rows) % vocab
    assert_as_exact_as_torch(
        results(compute(*given, wanted), given),
        results(losses(*given, wanted), given),
        results(naive(exact, wanted), exact),
        precision=dtype,
    )


@every_backend
def test_sums_over_thousands_of_ids_are_as_exact(name: str):
    compute, exact = operation(name, torch.float32), inputs(63, vocab=2048, width=64)
    given = inputs(63, vocab=2048, width=64, dtype=torch.float32)
    assert_as_exact_as_torch(
        results(compute(*given, targets(63)), given),
        results(losses(*given, targets(63)), given),
        results(naive(exact, targets(63)), exact),
    )


@every_backend
def test_the_first_and_the_last_id_are_targets_like_any_other(name: str):
    compute, given = operation(name, torch.float32), inputs(4, dtype=torch.float32)
    ends = torch.tensor([0, VOCAB - 1, VOCAB - 1, 0], device=DEVICE)
    found, plain = results(compute(*given, ends), given), results(losses(*given, ends), given)
    assert max(errors(found, plain)) < 1e-5


@every_backend
@pytest.mark.skipif(DEVICE.type != "cpu", reason="a GPU that stops at an assertion is lost")
@pytest.mark.parametrize("wrong", [-100, -1, VOCAB])
def test_a_target_outside_the_table_is_refused_with_the_range(name: str, wrong: int):
    given, wanted = inputs(5, dtype=torch.float32), targets(5)
    wanted[3] = wrong
    with pytest.raises(ValueError, match=rf"target {wrong} is outside 0\.\.18"):
        operation(name, torch.float32)(*given, wanted)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32])
@every_backend
def test_targets_of_another_type_are_refused(name: str, dtype: torch.dtype):
    # As uint8 they would be a mask to torch, and kernels would read two int32 as one int64.
    features, weight = inputs(VOCAB, dtype=torch.float32)
    with pytest.raises(TypeError, match=f"targets must be int64, got {dtype}"):
        operation(name, torch.float32)(features, weight, targets(VOCAB).to(dtype))


@every_backend
@pytest.mark.skipif(DEVICE.type != "cpu", reason="a GPU that stops at an assertion is lost")
def test_a_compiled_step_gives_a_wrong_target_no_loss_either(name: str):
    given, wrong = inputs(5, dtype=torch.float32), torch.full((5,), -100)
    compute = operation(name, torch.float32)
    compiled = torch.compile(compute, fullgraph=True, backend="aot_eager")
    with pytest.raises((ValueError, IndexError, RuntimeError), match="-100"):
        compiled(*given, wrong)


@every_backend
def test_a_target_whose_loss_counts_for_nothing_changes_no_gradient(name: str):
    compute, given = operation(name, torch.float32), inputs(6, dtype=torch.float32)
    upstream = torch.tensor([0.0, 2.0, 0.0, -1.0, 0.5, 0.0], device=DEVICE)
    counted = upstream != 0
    features, weight = torch.autograd.grad(compute(*given, targets(6)), given, upstream)
    some = (given[0].detach()[counted].requires_grad_(), given[1])
    alone = torch.autograd.grad(compute(*some, targets(6)[counted]), some, upstream[counted])
    assert (features[~counted] == 0).all()
    assert max(errors([features[counted], weight], list(alone))) < 1e-6


@every_backend
def test_rows_cut_off_a_longer_table_get_no_gradient(name: str):
    compute, (features, table) = operation(name, torch.float32), inputs(7, dtype=torch.float32)
    wanted = targets(7) % 13
    (gradient,) = torch.autograd.grad(compute(features, table[:13], wanted).sum(), table)
    (cut,) = torch.autograd.grad(losses(features, table[:13], wanted).sum(), table)
    assert (gradient[13:] == 0).all()
    assert max(errors([gradient], [cut])) < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@every_backend
def test_two_runs_are_bit_equal_whatever_memory_held_before(name: str, dtype: torch.dtype):
    compute, given = operation(name, dtype), inputs(63, dtype=dtype)
    first = results(compute(*given, targets(63)), given)
    with poisoned():
        second = results(compute(*given, targets(63)), given)
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


@every_backend
def test_autocast_halves_the_products_but_neither_losses_nor_gradients(name: str):
    compute = operation(name, torch.bfloat16)
    exact, given = inputs(63), inputs(63, dtype=torch.float32)
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        found, by_torch = compute(*given, targets(63)), losses(*given, targets(63))
    gradients = torch.autograd.grad(found, given, noise(63, seed=99, dtype=torch.float32))
    assert {each.dtype for each in (found, *gradients)} == {torch.float32}
    assert 0 < (found - compute(*given, targets(63))).abs().max() < 0.1
    assert_as_exact_as_torch(
        [found, *gradients],
        results(by_torch, given),
        results(naive(exact, targets(63)), exact),
        precision=torch.bfloat16,
    )


@every_backend
def test_autocast_leaves_float64_alone(name: str):
    compute, given = operation(name, torch.float64), inputs(5)
    with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
        found = compute(*given, targets(5))
    assert max(errors([found], [naive(given, targets(5))])) < 1e-11


@every_backend
def test_a_compiled_step_is_one_graph_with_the_same_results(name: str):
    compute, given = operation(name, torch.float32), inputs(9, dtype=torch.float32)
    compiled = torch.compile(compute, fullgraph=True, backend="aot_eager")
    found = results(compiled(*given, targets(9)), given)
    plain = results(compute(*given, targets(9)), given)
    assert max(errors(found, plain)) < 1e-6


@pytest.mark.parametrize("name", options.names("kernel/cross_entropy"))
def test_a_tied_table_gets_the_sum_of_both_gradients(name: str):
    operation(name, torch.float32)  # skips
    config = options.typed(CrossEntropyKernelConfig, options.values("kernel/cross_entropy", name))
    backends = dataclasses.replace(options.kernel(), cross_entropy=config)
    ids = torch.arange(14, device=DEVICE).view(2, 7)

    def gradients(output: str, backends: KernelConfig) -> dict[str, Tensor]:
        model = options.decoder(
            options.model(),
            position=options.position("none"),
            embedding=options.embedding("table"),
            output=options.output(output),
            backends=backends,
        ).to(DEVICE)
        if output == "untied":
            model.output.get_parameter("weight").data.copy_(model.embedding.get_parameter("weight"))
        model.losses(ids, ids.roll(1)).sum().backward()
        return {path: p.grad for path, p in model.named_parameters() if p.grad is not None}

    tied, apart = gradients("tied", backends), gradients("untied", options.kernel())
    both = apart["embedding.weight"] + apart["output.weight"]
    assert max(errors([tied["embedding.weight"]], [both])) < 1e-4 * float(both.abs().max())


@every_backend
def test_inputs_may_be_strided_and_are_left_alone(name: str):
    compute, wanted = operation(name, torch.float32), targets(63)
    given = inputs(63, dtype=torch.float32)
    apart = (
        strided(given[0].detach()).requires_grad_(),
        strided(given[1].detach()).requires_grad_(),
    )
    before = [tensor.detach().clone() for tensor in apart]
    plain = results(compute(*given, wanted), given)
    assert max(errors(results(compute(*apart, strided(wanted)), apart), plain)) < 1e-5
    assert all(torch.equal(tensor, kept) for tensor, kept in zip(apart, before, strict=True))
    assert torch.equal(wanted, targets(63))


@every_backend
def test_scores_of_any_size_give_finite_losses(name: str):
    features, weight = (tensor.detach() * 1e3 for tensor in inputs(5, dtype=torch.float32))
    assert operation(name, torch.float32)(features, weight, targets(5)).isfinite().all()
