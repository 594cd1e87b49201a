"""Data sets read through the `datasets` library: here small files on the local disk."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.cache import VARIABLE
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.hub import HubConfig
from andrea_exp.tokenizer.bytes import BytesConfig

BOS = 256
ROWS = [f"row {number} says näh" for number in range(8)]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The library, with a cache folder of its own and without network."""
    datasets: Any = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return datasets


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def config(**changes: Any) -> HubConfig:
    values: dict[str, Any] = {
        "name": "hub",
        "batch_size": 5,
        "path": "json",
        "subset": None,
        "revision": None,
        "files": [],
        "split": "train",
        "validation_split": None,
        "validation_share": 0.25,
        "column": "text",
        "sample_tokens": 1000,
    }
    return HubConfig(**values | changes)


def load(**changes: Any) -> Corpus:
    return config(**changes).load(tokenizer=BytesConfig(name="bytes"), context=6)


def documents(data: Corpus, ids: np.ndarray) -> list[str]:
    pieces = np.split(ids, np.flatnonzero(ids == BOS))
    assert len(pieces[0]) == 0
    return [data.tokenizer.decode(piece) for piece in pieces[1:]]


def json_file(folder: Path, rows: list[object], *, column: str = "text") -> str:
    path = folder / "rows.jsonl"
    lines = [json.dumps({column: row, "label": number}) for number, row in enumerate(rows)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def csv_file(folder: Path) -> str:
    path = folder / "rows.csv"
    path.write_text("text,label\n" + "".join(f"{row},1\n" for row in ROWS), encoding="utf-8")
    return str(path)


def parquet_file(folder: Path, library: Any) -> str:
    path = folder / "rows.parquet"
    library.Dataset.from_dict({"text": ROWS}).to_parquet(str(path))
    return str(path)


@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_each_row_is_a_document_and_the_last_ones_are_validation(
    tmp_path: Path, library: Any, kind: str
):
    files = {
        "json": lambda: json_file(tmp_path, list(ROWS)),
        "csv": lambda: csv_file(tmp_path),
        "parquet": lambda: parquet_file(tmp_path, library),
    }
    data = load(path=kind, files=[files[kind]()])
    assert documents(data, data.training_sample()) == ROWS[:6]
    assert documents(data, data.validation()) == ROWS[6:]


@pytest.mark.usefixtures("library")
def test_splits_columns_and_folders_are_the_library_s_own(tmp_path: Path):
    for split, rows in {"train": ROWS[:5], "test": ROWS[5:]}.items():
        lines = "".join(json.dumps({"content": row}) + "\n" for row in rows)
        (tmp_path / "set").mkdir(exist_ok=True)
        (tmp_path / "set" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    data = load(path=str(tmp_path / "set"), validation_split="test", column="content")
    assert documents(data, data.training_sample()) == ROWS[:5]
    assert documents(data, data.validation()) == ROWS[5:]
    part = load(
        path=str(tmp_path / "set"), split="train[:2]", validation_split="test", column="content"
    )
    assert documents(part, part.training_sample()) == ROWS[:2]


@pytest.mark.usefixtures("library")
def test_empty_rows_are_passed_over(tmp_path: Path):
    data = load(
        files=[json_file(tmp_path, ["one", "", "two more", "", "", "three", "validate", ""])]
    )
    assert documents(data, data.training_sample()) == ["one", "two more", "three"]
    assert documents(data, data.validation()) == ["validate"]


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        (ROWS, {"column": "words"}, r"data\.column=words: json has no such column; it has text"),
        (ROWS, {"column": "label"}, r"data\.column=label: row 0 holds int, not text"),
        ([*ROWS, None], {}, r"data\.column=text: row 8 holds NoneType, not text"),
        (["abc\0d", *ROWS], {}, r"data\.column=text: row 0 has a NUL"),
        (ROWS, {"split": "dev"}, r"data=hub: json, split dev: Unknown split"),
        (["", ""], {}, r"the training text has 0 tokens, fewer than the 7"),
        (["abc", "abc", "abc", "a"], {}, r"the validation text has 2 tokens, fewer than the 7"),
        (ROWS, {"path": ""}, r"data=hub needs data\.path"),
        (ROWS, {"files": ["/nowhere/rows.jsonl"]}, r"data=hub: json, split train: Unable to find"),
    ],
)
def test_what_cannot_be_read_is_refused(
    tmp_path: Path, rows: list[object], changes: dict[str, Any], message: str
):
    with pytest.raises(Refusal, match=message):
        load(**{"files": [json_file(tmp_path, rows)]} | changes)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(Refusal, match=r"pip install 'andrea_exp\[hub\]'"):
        load(files=["rows.jsonl"])


def test_it_needs_a_tokenizer():
    assert not HubConfig.has_own_ids()
    with pytest.raises(Refusal, match="needs a tokenizer"):
        config().load(tokenizer=None, context=6)
