"""The command that tells whether two runs are the same, bit for bit."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from andrea_exp.compare import main
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Status
from tests.commands import tiny
from tests.commands.test_refusals import refused

Said = pytest.CaptureFixture[str]
PARTS = ["recipe", "status", "data", "metrics", "results", "weights"]


@pytest.fixture
def other(finished: Path, place: Path) -> Path:
    """A copy of the finished run under another name, to be changed."""
    return Path(shutil.copytree(finished, place / "elsewhere" / "other"))


def compared(first: Path, second: Path, said: Said) -> dict[str, Any]:
    """What the command says for programs."""
    status = main([str(first), str(second), "--json"])
    content = json.loads(said.readouterr().out)
    assert status == (0 if content["same"] else 1)
    assert [part["name"] for part in content["parts"]] == PARTS
    return content


def differing(content: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in content["parts"] if not part["same"]}


def edit(path: Path, change: Callable[[Any], None]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.usefixtures("place")
def test_the_same_words_trained_twice_are_the_same(finished: Path, capsys: Said) -> None:
    again = tiny.train(*tiny.WORDS, "name=again", "runtime.workers=1")
    assert main([str(finished), str(again)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["first", str(finished)]
    assert lines[1].split() == ["second", str(again)]
    assert [line.split() for line in lines[2:8]] == [[part, "same"] for part in PARTS]
    assert lines[8:] == ["the runs are the same"]
    assert tiny.results(finished)["throughput"] != tiny.results(again)["throughput"]


@pytest.mark.usefixtures("place")
def test_another_recipe_differs_in_its_keys_and_in_what_follows(
    finished: Path, capsys: Said
) -> None:
    run = tiny.train(*tiny.WORDS, "seed=1", "optimizer.lr=0.5")
    assert main([str(finished), str(run)]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("recipe     differs:")
    assert lines[at + 1] == "  seed: 0 / 1"
    assert lines[at + 2].startswith("  optimizer.lr: ")
    assert lines[at + 2].endswith(" / 0.5")
    assert lines[at + 3] == "status     same"
    (step,) = (line for line in lines if line.startswith("  step "))
    assert step.startswith("  step 4, train_loss_nats: ")
    assert any(line.startswith("results") and "keys differ, first:" in line for line in lines)
    assert any(line.startswith("weights") and "tensors differ, first:" in line for line in lines)
    assert lines[-1] == "the runs differ"


def test_a_copy_is_the_same(finished: Path, other: Path, capsys: Said) -> None:
    content = compared(finished, other, capsys)
    assert (content["same"], content["execution"]) == (True, [])
    assert (content["first"], content["second"]) == (str(finished), str(other))


def test_a_column_of_metrics_that_differs_is_found_with_its_step(
    finished: Path, other: Path, capsys: Said
) -> None:
    (row,) = map(json.loads, (other / "metrics.jsonl").read_text().splitlines())
    change = {"train_loss_nats": 1.25, "lr": 0.125}
    (other / "metrics.jsonl").write_text(json.dumps({**row, **change}) + "\n")
    (part,) = differing(compared(finished, other, capsys)).values()
    assert (part["name"], part["differing"], part["unit"]) == ("metrics", 1, "steps")
    (found,) = part["differences"]
    assert (found["where"], found["second"]) == ("step 4, train_loss_nats", "1.25")
    (other / "metrics.jsonl").write_text(json.dumps({**row, "elapsed_s": 77.0}) + "\n")
    assert compared(finished, other, capsys)["same"]


def test_a_key_of_results_that_differs_is_found_and_throughput_is_not_looked_at(
    finished: Path, other: Path, capsys: Said
) -> None:
    def slower(content: Any) -> None:
        content["throughput"] = {"tokens_per_s": 1.0}

    def worse(content: Any) -> None:
        content["lengths"][3]["loss_nats"] = 9.5

    edit(other / "results.json", slower)
    assert compared(finished, other, capsys)["same"]
    edit(other / "results.json", worse)
    (part,) = differing(compared(finished, other, capsys)).values()
    assert part["name"] == "results"
    assert [each["where"] for each in part["differences"]] == ["lengths[3].loss_nats"]


def set_weight(run: Path, value: float) -> None:
    weights = load_file(run / "model.safetensors")
    weights["embedding.weight"][2, 3] = value
    save_file(weights, run / "model.safetensors")


def test_the_sign_of_a_zero_in_the_weights_is_found(other: Path, capsys: Said) -> None:
    twin = Path(shutil.copytree(other, other.with_name("twin")))
    set_weight(other, 0.0)
    set_weight(twin, -0.0)
    (part,) = differing(compared(other, twin, capsys)).values()
    assert (part["name"], part["differing"], part["unit"]) == ("weights", 1, "tensors")
    (found,) = part["differences"]
    assert found == {"where": "embedding.weight[2, 3]", "first": "0.0", "second": "-0.0"}
    set_weight(twin, 0.0)
    assert compared(other, twin, capsys)["same"]


def test_other_data_under_the_same_words_are_found(
    finished: Path, other: Path, capsys: Said
) -> None:
    run = RunDirectory(other)
    data = run.manifest().data
    assert data is not None
    changed = dataclasses.replace(data, fingerprint="f" * 64)
    run.write_manifest(dataclasses.replace(run.manifest(), data=changed))
    (part,) = differing(compared(finished, other, capsys)).values()
    assert (part["name"], part["differences"][0]["where"]) == ("data", "fingerprint")


def test_with_what_they_were_executed_is_told_and_is_no_difference(
    finished: Path, other: Path, capsys: Said
) -> None:
    run = RunDirectory(other)
    run.write_manifest(dataclasses.replace(run.manifest(), threads=7, device="abacus"))
    content = compared(finished, other, capsys)
    assert content["same"]
    assert [each["where"] for each in content["execution"]] == ["device", "threads"]
    assert main([str(finished), str(other)]) == 0
    assert "  threads: 1 / 7" in capsys.readouterr().out.splitlines()


def test_the_same_text_in_two_places_makes_the_same_run(place: Path, capsys: Said) -> None:
    words = ["data=text", "tokenizer=bytes", *tiny.SMALL, *tiny.SHORT, *tiny.QUICK, *tiny.RUNNING]
    runs: list[Path] = []
    for folder, text in (("one", "ab " * 200), ("two", "ab " * 200), ("three", "ac " * 200)):
        (place / folder).mkdir()
        (place / folder / "book.txt").write_text(text)
        runs.append(tiny.train(*words, f"data.path={folder}/book.txt", f"name={folder}"))
    assert compared(runs[0], runs[1], capsys)["same"]
    found = differing(compared(runs[0], runs[2], capsys))
    assert set(found) == {"data", "metrics", "results", "weights"}


def test_an_unfinished_run_is_compared_as_far_as_it_goes(
    finished: Path, other: Path, capsys: Said
) -> None:
    run = RunDirectory(other)
    run.write_manifest(dataclasses.replace(run.manifest(), status=Status.interrupted))
    run.results_file.unlink()
    run.model_file.unlink()
    run.metrics_file.write_text("")
    found = differing(compared(finished, other, capsys))
    assert set(found) == {"status", "metrics", "results", "weights"}
    assert found["status"]["differences"][0]["second"] == '"interrupted"'
    for part in ("metrics", "results", "weights"):
        assert found[part]["missing"] == ["second"]
    assert main([str(other), str(finished)]) == 1
    assert "weights    the first run has none" in capsys.readouterr().out.splitlines()


def test_two_runs_that_wait_are_the_same_if_their_recipes_are(place: Path, capsys: Said) -> None:
    runs = [
        place / freeze_single(request([*tiny.WORDS, *words])).path
        for words in ((), ("name=other",), ("seed=1",))
    ]
    assert main([str(runs[0]), str(runs[1])]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("neither has any")] == [
        f"{part:11}neither has any" for part in ("data", "metrics", "results", "weights")
    ]
    assert set(differing(compared(runs[0], runs[2], capsys))) == {"recipe"}


def test_what_is_no_run_is_refused(finished: Path, place: Path, capsys: Said) -> None:
    for words in ([str(finished), "nowhere"], ["nowhere", str(finished)]):
        line = refused(main, words, place=place, said=capsys)
        assert "nowhere is not a run directory of andrea_exp" in line


def test_a_damaged_file_is_refused_by_name(other: Path, finished: Path, capsys: Said) -> None:
    (other / "model.safetensors").write_bytes(b"torn")
    assert main([str(finished), str(other)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "other/model.safetensors cannot be read as weights" in line
