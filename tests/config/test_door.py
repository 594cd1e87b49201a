"""The door: plain values in, typed configuration out, every mistake named."""

import copy
from typing import Any

import pytest

from andrea_exp.component import Refusal
from andrea_exp.config.compose import compose
from andrea_exp.config.door import open_door, recipe_values
from andrea_exp.config.frozen import freeze, recipe_hash, thaw
from andrea_exp.config.request import request
from andrea_exp.position.beyond import Beyond


@pytest.fixture(scope="module")
def default() -> dict[str, Any]:
    return dict(compose([]).values)


def _changed(values: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(values)
    *parents, last = path.split(".")
    node = changed
    for key in parents:
        node = node[key]
    node[last] = value
    return changed


def test_values_become_typed_objects(default: dict[str, Any]) -> None:
    config = open_door(default)
    assert type(config.recipe.position).__name__ == "LearnedConfig"
    assert config.recipe.model.context == default["model"]["context"]
    assert config.recipe.evaluation.beyond == [Beyond.clamp]


@pytest.mark.parametrize(
    ("path", "value", "parts"),
    [
        ("trainer.max_steps", "abc", ["trainer", "max_steps", "abc"]),
        ("trainer.max_steps", 0, ["trainer", "max_steps", "at least 1", "0"]),
        ("trainer.max_steps", None, ["trainer", "max_steps", "None"]),
        ("optimizer.lr", 0.0, ["optimizer", "lr", "above 0", "0"]),
        ("optimizer.lr", float("nan"), ["optimizer", "lr", "nan"]),
        ("model.dropout", 1.0, ["model", "dropout", "below 1", "1"]),
        ("model.context", 0, ["model", "context", "at least 1"]),
        ("model.num_heads", 3, ["model", "num_heads=3", "d_model=128"]),
        ("model.feedforward.activation", "gleu", ["model.feedforward", "activation", "gelu"]),
        ("model.norm.epss", 1e-5, ["model.norm.epss", "eps"]),
        ("position.beyond", "clmap", ["position", "beyond", "clamp"]),
        ("position.name", "nowhere", ["position.name=nowhere"]),
        ("evaluation.length_factors", [1.0, -2.0], ["length_factors", "above 0", "-2"]),
        ("sead", 1, ["sead=1", "seed"]),
        ("name", "a/b", ["name", "a/b"]),
        ("seed", -1, ["seed", "at least 0", "-1"]),
    ],
)
def test_a_wrong_value_is_refused_by_name(
    default: dict[str, Any], path: str, value: Any, parts: list[str]
) -> None:
    with pytest.raises(Refusal) as refusal:
        open_door(_changed(default, path, value))
    for part in parts:
        assert part in str(refusal.value)


def test_a_missing_key_is_refused(default: dict[str, Any]) -> None:
    values = copy.deepcopy(default)
    del values["model"]["norm"]["eps"]
    with pytest.raises(Refusal, match=r"model\.norm\.eps"):
        open_door(values)


def test_data_with_ids_of_its_own_leaves_the_tokenizer_out() -> None:
    noise = request(["data=noise"])
    assert noise.config.recipe.tokenizer is None
    assert noise.composed.choices["tokenizer"] is None
    with pytest.raises(Refusal, match="tokenizer="):
        request(["data=noise", "tokenizer=chars"])


def test_the_hash_is_of_the_recipe_alone(default: dict[str, Any]) -> None:
    plain = recipe_hash(default)
    assert recipe_hash(_changed(default, "name", "other")) == plain
    assert recipe_hash(_changed(default, "runtime.threads", 1)) == plain
    assert recipe_hash(_changed(default, "seed", 1)) != plain
    assert recipe_hash(_changed(default, "evaluation.anchors", 7)) != plain
    assert set(recipe_values(default)) < set(default)


def test_equal_values_have_one_hash_however_they_are_written() -> None:
    plain = freeze(request(["seed=3", "trainer.clip_norm=1.0", "model.dropout=0.0"]))
    other = freeze(request(["seed=03", "trainer.clip_norm=1", "model.dropout=0"]))
    assert other.recipe_hash == plain.recipe_hash
    assert other.config == plain.config
    assert thaw(other) == request(["seed=3"]).config
