"""Differences are of bits: none is overlooked, and none is seen where there is none."""

import math
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from andrea_exp.component import Refusal
from andrea_exp.record.difference import Difference, of_rows, of_tensors, of_values
from andrea_exp.record.metrics import Row


def told(differences: list[Difference]) -> list[tuple[str, str, str]]:
    return [(each.where, each.first, each.second) for each in differences]


@pytest.mark.parametrize(
    "value",
    [None, True, 3, -0.0, 0.1, math.nan, math.inf, "x", [], {}, {"a": [1, {"b": math.nan}]}],
)
def test_a_value_is_the_same_as_itself(value: object) -> None:
    assert list(of_values(value, value)) == []


@pytest.mark.parametrize(
    ("first", "second", "texts"),
    [
        (0.0, -0.0, ("0.0", "-0.0")),
        (1, 1.0, ("1", "1.0")),
        (1, True, ("1", "true")),
        (None, 0, ("null", "0")),
        (math.nan, None, ("NaN", "null")),
        (0.1, math.nextafter(0.1, 1), ("0.1", "0.10000000000000002")),
        ("ä", "a", ('"ä"', '"a"')),
        ([], {}, ("[]", "{}")),
        ({"a": 1}, 1, ('{"a": 1}', "1")),
    ],
)
def test_values_differ_if_their_bits_or_kinds_do(
    first: object, second: object, texts: tuple[str, str]
) -> None:
    assert told(list(of_values(first, second))) == [("", *texts)]
    assert told(list(of_values({"k": [first]}, {"k": [second]}))) == [("k[0]", *texts)]


def test_every_leaf_that_differs_is_told_in_order() -> None:
    first = {"a": {"b": 1, "gone": 2, "same": 5}, "rows": [1, 2, 3]}
    second = {"rows": [1, 7], "a": {"same": 5, "new": None, "b": 4}}
    assert told(list(of_values(first, second))) == [
        ("a.b", "1", "4"),
        ("a.gone", "2", "absent"),
        ("a.new", "absent", "null"),
        ("rows[1]", "2", "7"),
        ("rows[2]", "3", "absent"),
    ]


def test_a_step_differs_in_its_first_column_and_never_in_the_time_it_took() -> None:
    first: list[Row] = [
        {"step": 1, "elapsed_s": 0.1, "loss_nats": 2.0, "lr": 1.0},
        {"step": 2, "elapsed_s": 0.2, "loss_nats": math.nan, "lr": 0.5},
        {"step": 10, "tokens_per_s": 9.0, "loss_nats": 1.0, "lr": 0.1},
    ]
    assert list(of_rows(first, first)) == []
    assert list(of_rows(first, [{**row, "elapsed_s": 7.0, "new_s": 1.0} for row in first])) == []
    second: list[Row] = [
        first[0],
        {**first[1], "loss_nats": 1.5, "lr": 7.0},
        {**first[2], "lr": 0.2},
    ]
    assert told(list(of_rows(first, second))) == [
        ("step 2, loss_nats", "NaN", "1.5"),
        ("step 10, lr", "0.1", "0.2"),
    ]


def test_a_step_that_one_run_has_not_logged_differs() -> None:
    rows: list[Row] = [{"step": step, "loss_nats": 1.0} for step in (1, 2, 3)]
    assert told(list(of_rows(rows, rows[:2]))) == [("step 3", "logged", "absent")]
    assert told(list(of_rows(rows[1:], rows))) == [("step 1", "absent", "logged")]


def tensors(folder: Path, first: dict[str, Tensor], second: dict[str, Tensor]) -> list[Difference]:
    paths = [folder / "first.safetensors", folder / "second.safetensors"]
    for path, content in zip(paths, (first, second), strict=True):
        save_file(content, path)
    return list(of_tensors(paths[0], paths[1]))


EVERY_KIND = {
    "matrix": torch.randn(3, 5, generator=torch.Generator().manual_seed(0)),
    "half": torch.arange(4, dtype=torch.bfloat16),
    "double": torch.tensor([[-0.0, math.nan, math.inf]], dtype=torch.float64),
    "count": torch.tensor(7),
    "flags": torch.tensor([True, False]),
    "empty": torch.empty(0, 4),
}


def test_equal_tensors_are_the_same_whatever_they_hold(tmp_path: Path) -> None:
    assert tensors(tmp_path, EVERY_KIND, EVERY_KIND) == []


@pytest.mark.parametrize(
    ("name", "index", "value", "where", "texts"),
    [
        ("matrix", (1, 2), 9.0, "matrix[1, 2]", (str(EVERY_KIND["matrix"][1, 2].item()), "9.0")),
        ("half", (3,), 3.015625, "half[3]", ("3.0", "3.015625")),
        ("double", (0, 0), 0.0, "double[0, 0]", ("-0.0", "0.0")),
        ("double", (0, 1), 1.0, "double[0, 1]", ("nan", "1.0")),
        ("count", (), 8, "count[]", ("7", "8")),
        ("flags", (1,), True, "flags[1]", ("False", "True")),
    ],
)
def test_one_element_that_differs_is_found(
    name: str,
    index: tuple[int, ...],
    value: float,
    where: str,
    texts: tuple[str, str],
    tmp_path: Path,
) -> None:
    changed = EVERY_KIND[name].clone()
    changed[index] = value
    assert told(tensors(tmp_path, EVERY_KIND, {**EVERY_KIND, name: changed})) == [(where, *texts)]


def test_of_several_elements_the_first_is_told_once_for_each_tensor(tmp_path: Path) -> None:
    first = {"a": torch.zeros(2, 3), "b": torch.zeros(4), "c": torch.ones(2)}
    second = {"a": torch.tensor([[0.0, 0, 0], [0, 1, 2]]), "b": torch.ones(4), "c": torch.ones(2)}
    assert told(tensors(tmp_path, first, second)) == [
        ("a[1, 1]", "0.0", "1.0"),
        ("b[0]", "0.0", "1.0"),
    ]


def test_another_nan_has_other_bits(tmp_path: Path) -> None:
    quiet = torch.tensor([0x7FC00000, 0x7FC00000], dtype=torch.int32).view(torch.float32)
    other = torch.tensor([0x7FC00000, 0x7FC00001], dtype=torch.int32).view(torch.float32)
    assert [each.where for each in tensors(tmp_path, {"x": quiet}, {"x": other})] == ["x[1]"]


def test_shapes_types_and_names_are_compared_before_elements(tmp_path: Path) -> None:
    first = {"shape": torch.zeros(2, 3), "type": torch.zeros(2), "only": torch.zeros(1)}
    second = {"shape": torch.zeros(3, 2), "type": torch.zeros(2).double(), "new": torch.zeros(1)}
    found = {each.where: (each.first, each.second) for each in tensors(tmp_path, first, second)}
    assert found == {
        "shape": ("torch.float32 [2, 3]", "torch.float32 [3, 2]"),
        "type": ("torch.float32 [2]", "torch.float64 [2]"),
        "only": ("torch.float32 [1]", "absent"),
        "new": ("absent", "torch.float32 [1]"),
    }


def test_a_file_that_holds_no_tensors_is_refused_by_name(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / "good.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"no weights")
    with pytest.raises(Refusal, match=r"bad\.safetensors cannot be read as weights"):
        list(of_tensors(tmp_path / "good.safetensors", tmp_path / "bad.safetensors"))
