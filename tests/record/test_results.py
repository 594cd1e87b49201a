import json
import math
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.results import SCHEMA, read_results, write_results

RESULTS = {
    "cost": {"total": 12, "fraction": {"position": 0.1 + 0.2}},
    "lengths": [{"length": 64, "status": "refused", "reason": "längere", "loss_nats": None}],
    "a": True,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.json"


def test_reading_gives_the_same_bits_in_the_same_order(path: Path) -> None:
    write_results(path, RESULTS)
    read = read_results(path)
    assert read == {"schema": SCHEMA, **RESULTS}
    assert list(read) == ["schema", *RESULTS]
    assert [entry.name for entry in path.parent.iterdir()] == ["results.json"]


def test_equal_results_are_equal_bytes(path: Path) -> None:
    write_results(path, RESULTS)
    first = path.read_bytes()
    write_results(path, RESULTS)
    assert path.read_bytes() == first


def test_what_is_not_finite_becomes_null_and_zero_stays_zero(path: Path) -> None:
    write_results(path, {"final": [math.nan, math.inf, -math.inf, 0.0, 0]})
    assert json.loads(path.read_text())["final"] == [None, None, None, 0.0, 0]


@pytest.mark.parametrize("value", [{1, 2}, b"x", object(), 1j])
def test_another_kind_of_value_is_refused_with_its_place(path: Path, value: object) -> None:
    with pytest.raises(ValueError, match=r"lengths\[1\]\.loss is "):
        write_results(path, {"lengths": [{}, {"loss": value}]})
    assert not path.exists()


def test_keys_are_texts(path: Path) -> None:
    with pytest.raises(ValueError, match=r"texts as keys; cost\.lags has 3"):
        write_results(path, {"cost": {"lags": {3: 0.5}}})


def test_another_schema_or_another_file_is_refused(path: Path) -> None:
    path.write_text('{"schema": 99}')
    with pytest.raises(Refusal, match=f"schema 99.*reads {SCHEMA}"):
        read_results(path)
    path.write_text("{")
    with pytest.raises(Refusal, match="not JSON"):
        read_results(path)
