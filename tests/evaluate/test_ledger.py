"""Totals against closed forms that were worked out by hand, on models that are never allocated."""

import dataclasses
import json
from typing import Any

import pytest
import torch
from torch import nn

from andrea_exp.evaluate.ledger import Ledger, ledger
from andrea_exp.model.decoder import Decoder
from tests import options

PLAIN: dict[str, Any] = {"norm": {"gain": False, "bias": False}, "bias": False}
GPT2: dict[str, Any] = {"norm": {"gain": True, "bias": True}, "bias": True}
GAIN: dict[str, Any] = {"norm": {"gain": True, "bias": False}, "bias": False}
SMALL: dict[str, Any] = dict(options.SMALL)


def unallocated(
    used: int,
    *,
    position: str = "learned",
    output: str = "untied",
    embedding: str = "table",
    **changes: Any,
) -> Decoder:
    config = options.model(**changes)
    sizes = config.sizes(used_vocab=used)
    kernels = options.kernel().build()
    tokens = options.embedding(embedding)
    with torch.device("meta"):
        table = tokens.build(sizes=sizes, kernel=kernels.embedding)
        return Decoder(
            config,
            sizes=sizes,
            embedding=table,
            position=options.position(position).build(sizes=sizes, token_scale=table.scale()),
            output=options.output(output).build(sizes=sizes, token_std=1.0),
            kernels=kernels,
        )


def count(model: Decoder) -> Ledger:
    return ledger(model, nominal=None, moments=2)


def dims(context: int, width: int, layers: int, *, heads: int) -> dict[str, Any]:
    return {"context": context, "d_model": width, "num_layers": layers, "num_heads": heads}


@pytest.mark.parametrize(
    ("total", "vocab", "changes"),
    [
        (98_698_752, 8449, dims(1024, 768, 12, heads=12) | PLAIN),
        (92_209_920, 8449, dims(1024, 768, 12, heads=12) | PLAIN | {"output": "tied"}),
        (97_912_320, 8449, dims(1024, 768, 12, heads=12) | PLAIN | {"position": "sinusoidal"}),
        (124_439_808, 50257, dims(1024, 768, 12, heads=12) | GPT2 | {"output": "tied"}),
        (163_037_184, 50257, dims(1024, 768, 12, heads=12) | GPT2),
        (354_823_168, 50257, dims(1024, 1024, 24, heads=16) | GPT2 | {"output": "tied"}),
        (124_373_760, 50304, dims(1024, 768, 12, heads=12) | GAIN | {"output": "tied"}),
        (10_745_088, 65, dims(256, 384, 6, heads=6) | GAIN | {"output": "tied"}),
        (804_096, 65, dims(64, 128, 4, heads=4) | GAIN | {"output": "tied"}),
        (4_192, 27, dims(16, 16, 1, heads=4) | PLAIN | {"embedding": "normed"}),
        (12_780_288, 2305, dims(1024, 384, 6, heads=6) | PLAIN),
        (505_678_848, 16641, dims(1024, 1536, 16, heads=16) | PLAIN),
    ],
)
def test_totals_are_those_of_the_closed_forms(total: int, vocab: int, changes: dict[str, Any]):
    model = unallocated(vocab, **changes)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert count(model).total == total


def test_the_parts_of_a_120m_model_are_named_to_the_unit():
    found = ledger(
        unallocated(8449, **dims(1024, 768, 12, heads=12), **PLAIN), nominal=120_000_000, moments=2
    )
    assert found.token_embedding == found.output == 6_488_832
    assert (found.position, found.blocks, found.norms) == (786_432, 84_934_656, 0)
    assert (found.tied_shared, found.buffers, found.padding_rows) == (0, 0, 0)
    assert found.bytes_weights == 4 * 98_698_752
    assert found.bytes_optimizer == 8 * 98_698_752
    of_total, of_nominal = found.fraction.of_total, found.fraction.of_nominal
    assert of_nominal is not None
    printed = [f"{share:.5f}" for share in dataclasses.astuple(of_total)]
    assert printed == ["0.06574", "0.00797", "0.86054", "0.00000", "0.06574"]
    assert of_nominal.blocks == pytest.approx(84_934_656 / 120_000_000)


def test_norms_are_counted_apart_wherever_they_stand():
    with_gain = count(unallocated(19, **SMALL, **GPT2))
    assert with_gain.norms == 2 * (2 * 2 + 1) * 12
    # Biases of query, key, value, output and the two of the feed-forward: 9 D per layer.
    assert with_gain.blocks == 2 * (12 * 12**2 + 9 * 12)


@pytest.mark.parametrize("embedding", options.names("embedding"))
@pytest.mark.parametrize("position", ["learned", "sinusoidal", "none"])
@pytest.mark.parametrize("output", ["tied", "untied"])
def test_the_five_parts_sum_to_the_total(embedding: str, position: str, output: str):
    sizes = dims(7, 66, 2, heads=3)
    found = count(
        unallocated(19, embedding=embedding, position=position, output=output, **sizes, **GPT2)
    )
    parts = ("token_embedding", "position", "blocks", "norms", "output")
    assert sum(getattr(found, part) for part in parts) == found.total
    assert sum(dataclasses.astuple(found.fraction.of_total)) == pytest.approx(1)


def test_a_tied_output_is_nothing_of_its_own_and_shares_the_table():
    tied = count(unallocated(19, output="tied", **SMALL))
    untied = count(unallocated(19, **SMALL))
    assert (tied.output, tied.tied_shared) == (0, 19 * 12)
    assert (untied.output, untied.tied_shared) == (19 * 12, 0)


def test_a_matrix_that_two_modules_share_is_counted_once():
    model = unallocated(19, **SMALL)
    table = model.embedding.token_rows()
    assert isinstance(table, nn.Parameter)
    model.output.register_parameter("weight", table)
    found = count(model)
    assert (found.output, found.tied_shared) == (0, 19 * 12)
    twice = sum(
        parameter.numel() for _, parameter in model.named_parameters(remove_duplicate=False)
    )
    assert found.total == twice - 19 * 12


def test_fixed_rows_are_buffers_and_frozen_parameters_are_not_trainable():
    model = unallocated(19, position="sinusoidal", **SMALL)
    found = count(model)
    assert (found.position, found.buffers) == (0, 7 * 12)
    assert found.trainable == found.total
    model.embedding.requires_grad_(requires_grad=False)
    frozen = count(model)
    assert frozen.trainable == frozen.total - 19 * 12
    assert frozen.bytes_optimizer == 2 * 4 * frozen.trainable


def test_padding_is_shown():
    assert count(unallocated(19, vocab=32, **SMALL)).padding_rows == 13


def test_operations_are_six_per_matrix_parameter_and_the_attention_of_half_a_window():
    found = count(unallocated(50257, output="tied", **dims(1024, 768, 12, heads=12), **GPT2))
    assert found.flops_per_token == 6 * (84_934_656 + 50257 * 768) + 6 * 12 * 768 * 1024
    seeing_all = unallocated(
        50257, output="tied", causal=False, **dims(1024, 768, 12, heads=12), **GPT2
    )
    assert count(seeing_all).flops_per_token - found.flops_per_token == 6 * 12 * 768 * 1024


def test_a_factorized_projection_is_used_on_both_ways_if_tied():
    sizes = dims(7, 66, 0, heads=3)
    rank = options.values("embedding", "factorized")["rank"]
    one_way, both = (
        count(unallocated(19, embedding="factorized", output=output, **sizes)).flops_per_token
        for output in ("untied", "tied")
    )
    assert one_way == 6 * (66 * rank + 19 * 66)
    assert both == 6 * (2 * 66 * rank + 19 * rank)


def test_a_ledger_is_json_with_the_contracts_keys():
    found = dataclasses.asdict(count(unallocated(19, **SMALL)))
    assert " ".join(found) == (
        "total trainable token_embedding position blocks norms output tied_shared buffers "
        "padding_rows nominal fraction bytes_weights bytes_optimizer flops_per_token"
    )
    assert found["fraction"]["of_nominal"] is None
    assert json.dumps(found, allow_nan=False)
