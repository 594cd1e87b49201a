import pytest
import yaml

from andrea_exp.component import Refusal
from andrea_exp.record.frozen import FrozenConfig

FROZEN = FrozenConfig(
    recipe_hash="0e12",
    choices={"position": "rope_500k", "tokenizer": "null"},
    config={
        "position": {"name": "rope", "theta": 500000.0},
        "optimizer": {"lr": 1e-05, "betas": [0.9, 0.95]},
        "seed": 0,
        "name": "012",
        "tokenizer": None,
        "data": {"path": "ä/ö.txt", "clock": "12:30", "word": "off"},
    },
)


def test_reading_gives_what_was_written_types_included() -> None:
    assert FrozenConfig.parse(FROZEN.text(), source="c") == FROZEN


def test_the_file_has_the_published_keys() -> None:
    keys = ["schema", "recipe_hash", "claims_hash", "choices", "config"]
    assert list(yaml.safe_load(FROZEN.text())) == keys


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema: 2\n", "has schema 2"),
        ("- 1\n", "has schema None"),
        ("", "has schema None"),
        ("a: [", "is not YAML"),
        ("schema: 1\nchoices: {}\nconfig: {}\n", "lacks 'recipe_hash'"),
    ],
)
def test_another_layout_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(Refusal, match=f"run/config.yaml {message}"):
        FrozenConfig.parse(text, source="run/config.yaml")
