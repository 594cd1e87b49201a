"""`bench`: every backend checked, then timed, and nothing before the request is right."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

import andrea_exp
from andrea_exp.bench import machine, measure
from andrea_exp.bench.__main__ import main
from andrea_exp.config.backends import backends
from andrea_exp.kernel.triton_machine import INTERPRETER
from andrea_exp.record.bench import Bench, Outcome, read_bench
from tests.bench.given import TINY
from tests.record.benches import bench

Said = pytest.CaptureFixture[str]
ROOT = Path(andrea_exp.__file__).parent.parent
OPERATIONS = ["embedding", "attention", "cross_entropy"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few rounds as there can be, less to copy, and no kernel interpreted line by line."""
    monkeypatch.delenv(INTERPRETER, raising=False)
    monkeypatch.setattr(measure, "BUDGET_MS", 0.0)
    monkeypatch.setattr(machine, "_COPIED_BYTES", 2**20)


def said(capsys: Said, *words: str) -> Bench:
    capsys.readouterr()
    assert main([*TINY, *words, "--json"]) == 0
    return Bench.parse(capsys.readouterr().out, source="stdout")


def refusal(capsys: Said, *words: str) -> str:
    capsys.readouterr()
    assert main([*words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_every_backend_of_every_operation_has_a_row_in_each_block(capsys: Said) -> None:
    found = said(capsys, "data.batch_size=8")
    assert [block.label for block in found.blocks] == ["1 sequence", "2 sequences", "8 sequences"]
    offered = [(operation, name) for operation in OPERATIONS for name in backends()[operation]]
    for block in found.blocks:
        assert [(row.operation, row.backend) for row in block.rows] == offered
        assert (block.tokens, block.width, block.heads, block.vocab) == (10, 12, 3, 37)
        assert (block.precision, block.biased, block.compiled) == ("float32", False, False)
        assert block.copy_gb_per_s > 0
        for row in block.rows:
            assert row.outcome in {Outcome.timed.name, Outcome.cannot.name}
            assert bool(row.reasons) == (row.outcome == Outcome.cannot.name)
            assert (row.runs_as is None) == (row.forward is None)
    assert found.overrides == [*TINY, "data.batch_size=8"]
    assert "torch" in found.packages
    assert found.sound


def test_the_reference_is_always_timed_and_its_ratio_is_one(capsys: Said) -> None:
    for block in said(capsys, "data.batch_size=1").blocks:
        reference = [row for row in block.rows if row.backend == "torch"]
        assert [row.operation for row in reference] == OPERATIONS
        for row in reference:
            assert row.bits_repeat
            assert row.forward is not None
            assert row.forward.ratio_to_torch == 1


def test_a_grid_is_a_block_for_each_combination(capsys: Said) -> None:
    found = said(capsys, "model.d_model=12,24", "position=alibi,rope")
    assert [(block.label, block.width, block.biased) for block in found.blocks] == [
        ("model.d_model=12 position=alibi", 12, True),
        ("model.d_model=12 position=rope", 12, False),
        ("model.d_model=24 position=alibi", 24, True),
        ("model.d_model=24 position=rope", 24, False),
    ]
    assert {block.sequences for block in found.blocks} == {3}


def test_precision_threads_and_dropout_are_those_of_the_composition(capsys: Said) -> None:
    words = ("trainer.precision=bf16", "runtime.threads=1", "model.dropout=0.25")
    for block in said(capsys, *words).blocks:
        assert (block.precision, block.threads, block.dropout) == ("bfloat16", 1, 0.25)


def test_the_grid_of_an_experiment_is_left_out_and_that_is_said(capsys: Said) -> None:
    words = ("experiment=past_T", *(word for word in TINY if not word.startswith("data.vocab")))
    small = [word for word in words if not word.startswith("data=")]
    assert main([*small, "evaluation.length_factors=[1,2,8]", "--json"]) == 0
    captured = capsys.readouterr()
    assert Bench.parse(captured.out, source="stdout").blocks[0].tokens == 10
    assert "the grid over position and seed is left out: give a value of each" in captured.err


def test_the_terminal_first_says_what_can_run_and_fits_into_80_columns(
    capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*TINY, "data.batch_size=1"]) == 0
    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0] == "What can run here"
    assert re.search(r"^(embedding)? +torch +runs as torch", shown, re.MULTILINE)
    assert shown.index("runs as torch") < shown.index("1 sequence: B 1, T 10, D 12, N 3, V 37")
    assert re.search(r"^ torch +forward +[\d.]+ ", shown, re.MULTILINE)
    assert max(map(len, lines)) <= 80
    assert main(["position=alibi", *TINY, "data.batch_size=1"]) == 0
    assert ", float32, biased" in capsys.readouterr().out


def test_the_file_has_what_is_printed(tmp_path: Path, capsys: Said) -> None:
    output = tmp_path / "bench.json"
    output.write_text(bench().text())  # an older one of ours is replaced
    assert main([*TINY, "data.batch_size=1", "--json", "--output", str(output)]) == 0
    assert output.read_text() == capsys.readouterr().out
    assert read_bench(output).sound
    assert [path.name for path in tmp_path.iterdir()] == ["bench.json"]


def test_a_place_that_cannot_be_written_is_refused_before_anything_is_timed(
    tmp_path: Path, capsys: Said
) -> None:
    other = tmp_path / "notes.json"
    other.write_text("{}")
    assert "holds something else" in refusal(capsys, "--output", str(other))
    assert other.read_text() == "{}"
    assert "it is a folder" in refusal(capsys, "--output", str(tmp_path))
    nowhere = tmp_path / "nowhere" / "bench.json"
    assert f"{nowhere.parent} is not a folder" in refusal(capsys, "--output", str(nowhere))


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_without_permission_is_refused_before_anything_is_timed(
    tmp_path: Path, capsys: Said
) -> None:
    tmp_path.chmod(0o500)
    try:
        assert "not writable" in refusal(capsys, "--output", str(tmp_path / "bench.json"))
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        ("postion=rope", ["postion=rope", "did you mean position"]),
        ("position=leaned,rope", ["position=leaned", "did you mean learned"]),
        ("model.d_model=12,x", ["model.d_model=x", "Integer"]),
        ("model.d_model=interval(1,9)", ["model.d_model=interval(1,9)", "a,b"]),
        ("position", ["position", "cannot read"]),
        ("kernel=torch", ["kernel=torch", "every backend is compared"]),
        ("kernel/attention=torch seed=1", ["kernel/attention=torch", "leave it out"]),
        ("kernel.attention.name=x", ["kernel.attention.name=x", "leave it out"]),
        ("tokenizer=chars", ["model.vocab="]),
        ("model.d_model=10 model.num_heads=3", ["model.num_heads=3"]),
    ],
)
def test_a_mistake_is_one_message_and_nothing_else(
    words: str, parts: list[str], capsys: Said
) -> None:
    message = refusal(capsys, *words.split())
    assert message.startswith("andrea_exp: ")
    assert message.count("\n") == 1
    assert all(part in message for part in parts), message


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_refused(capsys: Said) -> None:
    assert "runtime=cpu" in refusal(capsys, "runtime=gpu")


def python(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "andrea_exp.bench", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder if (folder / "conf").is_dir() else ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


WRONG = """
from dataclasses import dataclass
from typing import final

from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig
from andrea_exp.kernel.cross_entropy.torch import losses


@final
@dataclass(kw_only=True, frozen=True)
class WrongConfig(CrossEntropyKernelConfig):
    def reasons(self, use):
        return []

    def runs_as(self, use):
        return self.name

    def build(self):
        return lambda features, weight, targets: losses(features, weight, targets.roll(1))
"""


@pytest.mark.slow
def test_a_wrong_backend_ends_with_status_1_and_the_others_are_timed(tmp_path: Path) -> None:
    for part in ("andrea_exp", "conf"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    place = Path("kernel", "cross_entropy")
    (tmp_path / "andrea_exp" / place / "wrong.py").write_text(WRONG)
    (tmp_path / "conf" / place / "wrong.yaml").write_text("# The next token's loss.\nname: wrong\n")
    process = python(tmp_path, *TINY, "data.batch_size=1", "--output", "bench.json")
    shown, told = process.communicate(timeout=240)
    assert process.returncode == 1, told
    (block,) = read_bench(tmp_path / "bench.json").blocks
    outcomes = {(row.operation, row.backend): row.outcome for row in block.rows}
    assert outcomes["cross_entropy", "wrong"] == "differs"
    assert [outcomes[operation, "torch"] for operation in OPERATIONS] == ["timed"] * 3
    assert "cross_entropy by wrong differs, not timed: " in shown.replace("\n", " ")


@pytest.mark.slow
def test_ctrl_c_gives_130_and_leaves_no_file(tmp_path: Path) -> None:
    process = python(tmp_path, "--output", "bench.json")
    assert process.stdout is not None
    assert process.stdout.readline().strip() == "What can run here"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.splitlines()[-1] == "andrea_exp: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_help_names_the_file_and_says_that_all_backends_are_compared(capsys: Said) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "All backends are compared, so kernel= is refused" in shown
    assert "--output FILE" in shown


def test_the_json_has_units_in_its_names(capsys: Said) -> None:
    assert main([*TINY, "data.batch_size=1", "--json"]) == 0
    content: Any = json.loads(capsys.readouterr().out)
    (block,) = content["blocks"]
    timed = [row for row in block["rows"] if row["outcome"] == "timed"]
    assert timed
    for name, value in timed[0]["forward"].items():
        assert (
            name.startswith(("ms_", "ratio_", "fraction_")) or "bytes" in name or "_per_s" in name
        )
        assert value is None or value >= 0
