import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from andrea_exp.component import Refusal
from andrea_exp.disk import DiskFull
from andrea_exp.record.metrics import MetricsFile, is_time_column, read_metrics
from tests.small_disk import fill, small_disk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "metrics.jsonl"


def test_each_line_is_on_the_disk_as_soon_as_it_is_appended(path: Path) -> None:
    with MetricsFile(path) as file:
        assert file.append({"step": 1, "loss_nats": 2.5})
        assert read_metrics(path) == [{"step": 1, "loss_nats": 2.5}]
        assert file.append({"step": 3, "loss_nats": None})
        assert read_metrics(path)[1:] == [{"step": 3, "loss_nats": None}]


def test_the_lines_are_strict_json_and_floats_keep_their_bits(path: Path) -> None:
    with MetricsFile(path) as file:
        file.append({"step": 1, "a": 0.1 + 0.2, "b": 1e-300, "c": math.inf, "d": -math.inf})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    (line,) = path.read_text().splitlines()
    assert json.loads(line, parse_constant=refuse)["c"] == "Infinity"
    (row,) = read_metrics(path)
    assert row == {"step": 1, "a": 0.1 + 0.2, "b": 1e-300, "c": math.inf, "d": -math.inf}


def test_nan_comes_back_as_nan(path: Path) -> None:
    with MetricsFile(path) as file:
        file.append({"step": 1, "loss_nats": math.nan})
    assert '"NaN"' in path.read_text()
    assert math.isnan(read_metrics(path)[0]["loss_nats"] or 0)


def test_a_resumed_run_does_not_write_recorded_steps_again(path: Path) -> None:
    with MetricsFile(path) as file:
        written = [file.append({"step": step, "part": 1}) for step in (2, 4, 4, 3, 6)]
    assert written == [True, True, False, False, True]
    with MetricsFile(path) as file:
        assert file.last_step == 6
        written = [file.append({"step": step, "part": 2}) for step in (4, 6, 8)]
    assert written == [False, False, True]
    rows = [(row["step"], row["part"]) for row in read_metrics(path)]
    assert rows == [(2, 1), (4, 1), (6, 1), (8, 2)]


def test_a_step_of_zero_is_a_step(path: Path) -> None:
    with MetricsFile(path) as file:
        assert file.last_step is None
        assert file.append({"step": 0})
        assert not file.append({"step": 0})


@given(kept=st.integers(min_value=1, max_value=24))
def test_a_line_cut_anywhere_is_passed_over_and_then_removed(
    tmp_path_factory: pytest.TempPathFactory, kept: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "metrics.jsonl"
    whole, cut = b'{"step": 1, "loss_nats": 2.0}\n', b'{"step": 2, "loss_nats": 3.0}'[:kept]
    path.write_bytes(whole + cut)
    assert read_metrics(path) == [{"step": 1, "loss_nats": 2.0}]
    with MetricsFile(path) as file:
        file.append({"step": 2, "loss_nats": 3.5})
    assert path.read_bytes() == whole + b'{"step": 2, "loss_nats": 3.5}\n'


def test_a_file_of_one_cut_line_begins_anew(path: Path) -> None:
    path.write_bytes(b'{"st')
    with MetricsFile(path) as file:
        assert file.append({"step": 1})
    assert read_metrics(path) == [{"step": 1}]


@pytest.mark.parametrize(
    "line",
    [
        b'{"st',
        b"[1]",
        b'{"loss": 1}',
        b'{"step": 1, "loss": "high"}',
        b'{"step": 1, "loss": [2]}',
        b'{"step": 1, "lo\xffss": 2}',
        b"[" * 100_000,
        bytes(30),
    ],
    ids=range(8),
)
def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_added_to_it(
    path: Path, line: bytes
) -> None:
    content = b'{"step": 1}\n' + line + b'\n{"step": 2}\n'
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"metrics.jsonl:2 is not a line"):
        read_metrics(path)
    with pytest.raises(Refusal, match=r"metrics.jsonl:2 is not a line.* move the file away"):
        MetricsFile(path)
    assert path.read_bytes() == content


def test_a_full_disk_takes_whole_lines_only_and_goes_on_later(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size=40_960) as disk:
        path = disk / "metrics.jsonl"
        with MetricsFile(path) as file:
            file.append({"step": 0})
            ballast = fill(disk, leave=0)
            row = {f"name_{number}": float(number) for number in range(20)}
            with pytest.raises(DiskFull, match=f"no room to write {path}"):
                all(file.append({"step": step, **row}) for step in range(1, 100))
            written = read_metrics(path)
            assert path.read_bytes().endswith(b"\n")
            ballast.unlink()
            assert file.append({"step": 100})
        assert read_metrics(path) == [*written, {"step": 100}]
        assert len(written) > 5


@pytest.mark.parametrize("row", [{"loss": 1.0}, {"step": None}, {"step": 1.5}])
def test_a_row_needs_a_step(path: Path, row: dict[str, float | int | None]) -> None:
    with MetricsFile(path) as file, pytest.raises(ValueError, match="whole number"):
        file.append(row)


def test_a_value_that_is_no_number_is_named_and_nothing_is_written(path: Path) -> None:
    with MetricsFile(path) as file, pytest.raises(ValueError, match="loss must be a number"):
        file.append({"step": 1, "loss": "3"})  # pyright: ignore[reportArgumentType]
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("name", "timed"),
    [("elapsed_s", True), ("tokens_per_s", True), ("step", False), ("loss_nats", False)],
)
def test_time_columns_are_those_in_seconds(name: str, timed: bool) -> None:
    assert is_time_column(name) is timed
