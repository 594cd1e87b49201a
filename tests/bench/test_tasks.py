"""What each operation is given, and what it must move, by hand."""

from dataclasses import replace

import pytest
import torch

from andrea_exp.bench.attention import AttentionTask
from andrea_exp.bench.cross_entropy import CrossEntropyTask
from andrea_exp.bench.embedding import EmbeddingTask
from andrea_exp.bench.example import Example, Load
from andrea_exp.bench.sitting import TASKS
from andrea_exp.bench.task import CHECKED_NUMBERS, Task
from andrea_exp.config.backends import backends
from andrea_exp.kernel.embedding.torch import embed
from tests.bench.given import tiny

B, T, D, N, H, V = 3, 10, 12, 3, 4, 37
every_task = pytest.mark.parametrize("kind", TASKS)


def example(kind: type[Task], *words: str) -> Example:
    task = kind(tiny(*words))
    return task.example(task.use)


def test_every_operation_has_a_task():
    assert {kind.operation for kind in TASKS} == set(backends())


@every_task
@pytest.mark.parametrize("words", [[], ["trainer.precision=bf16"], ["position=alibi"]])
def test_the_reference_takes_the_example_and_gives_what_its_upstream_says(
    kind: type[Task], words: list[str]
):
    given = example(kind, *words)
    kernel = backends()[kind.operation]["torch"].build()
    results = given.results(kernel)
    output = results["output"]
    assert (output.shape, output.dtype) == (given.upstream.shape, given.upstream.dtype)
    assert [*results][1:] == [f"gradient of {name}" for name in given.trained]
    exact = given.exact().results(kernel)
    assert all(tensor.dtype == torch.float64 for tensor in exact.values())
    assert torch.allclose(exact["output"].float(), output.float(), atol=0.1)


@every_task
def test_two_examples_of_the_same_sizes_are_the_same(kind: type[Task]):
    one, other = example(kind), example(kind)
    assert torch.equal(one.upstream, other.upstream)
    assert all(torch.equal(one.given[name], other.given[name]) for name in one.given)
    different = example(kind, "seed=1")
    assert not torch.equal(one.upstream, different.upstream)


def test_least_traffic_of_the_embedding():
    given = example(EmbeddingTask)
    assert {name: tuple(each.shape) for name, each in given.given.items()} == {
        "token rows": (V, D),
        "position rows": (T, D),
    }
    with torch.no_grad():
        ids = torch.arange(V).view(V, 1).float()
        table = ids.expand(V, D).clone()
        seen = given.call(embed, {"token rows": table})[..., 0]
    distinct = len(seen.unique())
    assert 1 < distinct < B * T  # words repeat, as those of text do
    written = B * T * D * 4
    assert given.forward_load == Load(B * T * 8 + distinct * D * 4 + T * D * 4 + written, None)
    assert given.backward_load == Load(B * T * 8 + written + V * D * 4 + T * D * 4, None)


def test_ids_follow_the_law_of_zipf_for_any_number_of_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr(torch, "multinomial")  # it takes no more than 2^24
    task = EmbeddingTask(tiny("position=rope"))
    given = task.example(replace(task.use, batch=1, length=20_000, vocab=4))
    rows = {"token rows": torch.arange(4.0)[:, None]}
    shares = torch.bincount(given.call(embed, rows).long().flatten(), minlength=4) / 20_000
    assert torch.allclose(shares, torch.tensor([12.0, 6.0, 4.0, 3.0]) / 25, atol=0.02)


def test_rows_that_do_not_train_get_no_gradient():
    assert [*example(EmbeddingTask, "position=sinusoidal").trained] == ["token rows"]
    assert "position rows" not in example(EmbeddingTask, "position=rope").given
    assert "bias" not in example(AttentionTask, "position=alibi").trained


def test_the_embedding_is_called_as_the_composition_calls_it():
    factorized = example(EmbeddingTask, "embedding=factorized", "embedding.rank=5")
    assert factorized.given["token rows"].shape == (V, 5)
    assert "position rows" not in factorized.given
    scaled, plain = example(EmbeddingTask, "embedding=scaled"), example(EmbeddingTask)
    assert scaled.results(embed)["output"].std() > 2 * plain.results(embed)["output"].std()


@pytest.mark.parametrize(("causal", "seen"), [("true", T * (T + 1) // 2), ("false", T * T)])
def test_least_traffic_and_products_of_attention(causal: str, seen: int):
    given = example(AttentionTask, f"model.causal={causal}", "position=alibi")
    one, bias = B * T * D * 4, N * T * T * 4
    products = 2 * 2 * B * N * H * seen
    assert given.forward_load == Load(4 * one + bias, products)
    assert given.backward_load == Load(8 * one + bias, 2 * products)
    assert given.forward_load.then(given.backward_load) == Load(12 * one + 2 * bias, 3 * products)


def test_queries_lie_in_memory_as_one_projection_leaves_them():
    values = example(AttentionTask).given["values"]
    assert values.shape == (B, N, T, H)
    assert values.stride() == (T * 3 * D, H, 3 * D, 1)


def test_half_precision_halves_what_attention_moves_and_not_the_parameters():
    words = ("trainer.precision=bf16",)
    attention, embedding = example(AttentionTask, *words), example(EmbeddingTask, *words)
    assert attention.given["queries"].dtype == torch.bfloat16
    assert attention.forward_load.moved_bytes == 4 * B * T * D * 2
    assert embedding.given["token rows"].dtype == torch.float32
    assert attention.autocast


def test_least_traffic_and_products_of_the_loss():
    given = example(CrossEntropyTask)
    inputs = B * T * D * 4 + V * D * 4 + B * T * (8 + 4)
    assert given.forward_load == Load(inputs, 2 * B * T * D * V)
    assert given.backward_load == Load(inputs + B * T * D * 4 + V * D * 4, 4 * B * T * D * V)


@every_task
def test_backends_are_checked_at_one_token_an_odd_length_and_the_longest_that_is_quick(
    kind: type[Task],
):
    small = kind(tiny("model.dropout=0.1"))
    sizes = [(use.batch, use.length) for use in small.checked()]
    assert sizes == [(2, T), (1, 1)]
    assert {use.dropout for use in small.checked()} == {0.0}
    large = kind(replace(tiny(), use=replace(small.use, batch=64, length=4096, vocab=50_257)))
    longest, odd, one = large.checked()
    assert (one.length, odd.length) == (1, 63)
    assert longest.length > 63
    assert longest.length == 4096 or longest.length % 2
    assert large.intermediate(longest) <= CHECKED_NUMBERS
    assert all(use.vocab == 50_257 for use in large.checked())
