"""The record of a comparison of backends, written and read."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.bench import Bench, BenchFile, Outcome, is_bench, read_bench
from tests.record.benches import ROWS, bench, block, row, untimed

Change = Callable[[dict[str, Any]], object]


def written(folder: Path, text: str) -> Path:
    path = folder / "bench.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_reading_gives_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path, bench().text())
    assert read_bench(path) == bench()
    assert is_bench(path)
    assert BenchFile.read(path) == BenchFile(name="bench.json", bench=bench(), reason=None)


def test_the_file_says_what_it_is_and_null_is_not_zero() -> None:
    content = json.loads(bench().text())
    assert [*content][:3] == ["kind", "schema", "recorded_at"]
    assert (content["kind"], content["schema"]) == ("andrea_exp.bench", 1)
    (first,) = content["blocks"]
    assert [each["outcome"] for each in first["rows"]] == ["timed", "differs", "cannot"]
    assert first["rows"][1]["forward"] is None
    assert first["rows"][1]["agreement"]["error"] is None
    assert first["rows"][0]["forward_backward"]["ratio_to_torch"] is None


def test_a_sitting_is_sound_unless_a_backend_is_wrong_or_fails() -> None:
    cannot = untimed(outcome=Outcome.cannot.name, reasons=["no GPU"])
    assert bench(blocks=[block(rows=[row(), cannot])]).sound
    assert not bench().sound
    failed = untimed(outcome=Outcome.failed.name, reasons=["RuntimeError: no"])
    assert not bench(blocks=[block(rows=[row()]), block(rows=[failed])]).sound
    assert {each.outcome for each in (*ROWS, failed)} == {each.name for each in Outcome}


def test_home_and_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    failed = untimed(outcome="failed", reasons=["OSError: /home/somebody/x.cu"])
    said = bench(
        overrides=["data.path=/home/somebody/book.txt", "api_key=abc"],
        blocks=[block(rows=[failed])],
    )
    read = Bench.parse(said.text(), source="f")
    assert read.overrides == ["data.path=~/book.txt", "api_key=***"]
    assert read.blocks[0].rows[0].reasons == ["OSError: ~/x.cu"]


def of_row(change: Change) -> Change:
    return lambda content: change(content["blocks"][0]["rows"][0])


DAMAGES: dict[str, Change] = {
    "a field is missing": lambda content: content.pop("packages"),
    "a field is unknown": lambda content: content.update(weather="fine"),
    "no list of blocks": lambda content: content.update(blocks=3),
    "a block is no mapping": lambda content: content.update(blocks=[3]),
    "a row lacks a field": of_row(lambda each: each.pop("rounds")),
    "a row has another outcome": of_row(lambda each: each.update(outcome="fine")),
    "a pass is no mapping": of_row(lambda each: each.update(forward=[])),
    "a number is a text": of_row(lambda each: each["forward"].update(ms_median="1")),
    "a count is a truth": of_row(lambda each: each.update(rounds=True)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_told_with_its_name(tmp_path: Path, damage: str) -> None:
    content = json.loads(bench().text())
    DAMAGES[damage](content)
    path = written(tmp_path, json.dumps(content))
    with pytest.raises(Refusal, match=r"bench\.json: .* layout"):
        read_bench(path)
    file = BenchFile.read(path)
    assert file.bench is None
    assert file.reason is not None
    assert file.reason.startswith("bench.json: ")
    assert str(tmp_path) not in file.reason


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("copy_gb_per_s", "NaN"),
        ("copy_gb_per_s", "-Infinity"),
        ("copy_gb_per_s", "1e999"),
        ("copy_gb_per_s", "1" + "0" * 400),
        ("vocab", "1" + "0" * 400),
        ("vocab", "1" + "0" * 30),
        ("label", '"\\ud800"'),
    ],
)
def test_a_value_that_no_page_can_hold_is_refused(tmp_path: Path, key: str, value: str) -> None:
    content = json.loads(bench().text())
    content["blocks"][0][key] = "here"
    path = written(tmp_path, json.dumps(content).replace('"here"', value))
    with pytest.raises(Refusal, match=r"bench\.json"):
        read_bench(path)
    assert is_bench(path)  # so the next sitting may write over it


def test_another_schema_is_told_with_both_numbers(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({**json.loads(bench().text()), "schema": 7}))
    with pytest.raises(Refusal, match="has schema 7, this version of andrea_exp reads 1"):
        read_bench(path)
    assert is_bench(path)  # ours, if of another version


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "{}", '{"schema": 1}', "[" * 100_000])
def test_another_file_is_not_ours(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    assert not is_bench(path)
    with pytest.raises(Refusal, match="is not a record of andrea_exp"):
        read_bench(path)


def test_bytes_that_are_no_text_and_a_missing_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "bench.json").write_bytes(b"\xff\xfe")
    assert not is_bench(tmp_path / "bench.json")
    with pytest.raises(Refusal, match="is not a record"):
        read_bench(tmp_path / "bench.json")
    assert not is_bench(tmp_path / "nowhere.json")
    with pytest.raises(Refusal, match="cannot be read"):
        read_bench(tmp_path / "nowhere.json")
