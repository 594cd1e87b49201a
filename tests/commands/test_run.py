"""What one run leaves: its files, their fields, and what a person sees."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from safetensors.torch import load_file

import andrea_exp
from andrea_exp import job
from andrea_exp.__main__ import main
from andrea_exp.config.catalogue import groups
from andrea_exp.config.frozen import freeze, recipe_hash
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from tests.commands import tiny

Said = pytest.CaptureFixture[str]
WRITTEN = {
    ".lock",
    "checkpoints/last.ckpt",
    "config.yaml",
    "manifest.json",
    "metrics.jsonl",
    "model.safetensors",
    "report.html",
    "results.json",
    "run.log",
}
MANIFEST = {
    *("schema", "status", "seed", "argv", "overrides", "choices", "started_at", "ended_at"),
    *("git", "packages", "platform", "device", "threads", "kernel", "data", "deterministic"),
    *("wandb", "failure"),
}
PARTS = {"token_embedding", "position", "blocks", "norms", "output"}
COST = {
    *("total", "trainable", "tied_shared", "buffers", "padding_rows", "nominal", "fraction"),
    *("bytes_weights", "bytes_optimizer", "flops_per_token"),
    *PARTS,
}
LENGTH = {
    *("length", "factor", "protocol", "stride", "beyond", "status", "reason", "loss_nats"),
    *("tail_loss_nats", "rise_nats", "rise_se", "accuracy", "exact_match", "tokens_scored"),
    *("per_position", "floor_nats", "loss_se"),
}
PANEL = {
    *("adjacent_cosine", "centred_adjacent_cosine", "cosine_by_lag", "centred_cosine_by_lag"),
    *("d1", "d1_centred", "d2", "d2_over_d1", "effective_rank", "k95", "high_frequency_energy"),
    *("row_norms", "translation_invariance", "translation_invariance_by_lag"),
}
FINAL = {
    *("train_loss_nats", "val_loss_nats", "floor_nats", "unigram_nats", "uniform_nats"),
    "bigram_nats",
}


def frozen(run: Path) -> dict[str, Any]:
    return yaml.safe_load((run / "config.yaml").read_text(encoding="utf-8"))


def test_a_run_directory_has_its_files_and_no_others(finished: Path) -> None:
    patch = (tiny.manifest(finished)["git"] or {}).get("patch")
    assert tiny.files(finished) == WRITTEN | ({patch} if patch else set())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d_[0-9a-f]{6}", finished.name)
    assert [path.name for path in finished.parent.iterdir()] == [finished.name]


def test_the_configuration_is_resolved_and_has_choices_and_hash(finished: Path) -> None:
    content = frozen(finished)
    assert set(content) == {"schema", "recipe_hash", "claims_hash", "choices", "config"}
    assert content["claims_hash"] is None
    assert content["recipe_hash"] == recipe_hash(content["config"])
    assert finished.name.endswith(content["recipe_hash"][:6])
    assert "${" not in (finished / "config.yaml").read_text(encoding="utf-8")
    assert content["config"]["model"]["d_model"] == 16
    assert content["config"]["tokenizer"] is None
    expected = {
        group for group in groups() if group not in {"experiment", "tokenizer", "hydra/launcher"}
    }
    assert set(content["choices"]) == expected
    assert content["choices"]["position"] == "learned"


def test_the_manifest_says_what_ran_where_and_on_what(finished: Path) -> None:
    content = tiny.manifest(finished)
    assert set(content) == MANIFEST
    assert (content["status"], content["failure"]) == ("completed", None)
    assert (content["seed"], content["threads"], content["deterministic"]) == (0, 1, True)
    assert content["overrides"] == list(tiny.WORDS)
    assert content["argv"][:3] == ["python", "-m", "andrea_exp"]
    assert content["choices"] == frozen(finished)["choices"]
    assert content["started_at"] <= content["ended_at"]
    version = content["packages"]["torch"]  # a build for CUDA names itself in torch alone
    assert version.partition("+")[0] == torch.__version__.partition("+")[0]
    flash = "torch (flash)"  # which of torch's own computes
    assert content["kernel"] == {"attention": flash, "cross_entropy": "torch", "embedding": "torch"}
    assert content["data"]["name"] == "noise"
    assert re.fullmatch(r"[0-9a-f]{64}", content["data"]["fingerprint"])
    assert content["data"]["tokens"] is None
    assert content["wandb"] == {"id": None, "mode": "disabled", "directory": None}
    assert content["device"]


def test_the_results_have_the_documented_keys(finished: Path) -> None:
    content = tiny.results(finished)
    assert set(content) == {
        *("schema", "cost", "lengths", "slots", "smoothness", "geometry", "order"),
        *("throughput", "final"),
    }
    assert set(content["cost"]) == COST
    assert set(content["cost"]["fraction"]) == {"of_total", "of_nominal"}
    assert set(content["cost"]["fraction"]["of_total"]) == PARTS
    assert all(set(row) == LENGTH for row in content["lengths"])
    smoothness = content["smoothness"]
    assert set(smoothness) == {
        *("table", "init", "trained", "change", "controls", "permutation", "drift", "overlap"),
        *("row_cosines", "hidden_mean"),
    }
    for rows in ("init", "trained", "change"):
        assert set(smoothness[rows]) == PANEL
    assert set(smoothness["permutation"]) == {"shuffles", "mean", "max", "p"}
    drift = {"relative", "one_minus_cosine", "decay_floor", "first_untrained_row"}
    assert set(smoothness["drift"]) == drift
    overlap = {"k", "cosines", "mean_squared_cosine", "random"}
    assert set(smoothness["overlap"]) == overlap
    assert set(smoothness["row_cosines"]) == {"rows", "trained", "sinusoid"}
    assert set(smoothness["controls"]) == {"sinusoid", "iid", "shuffled", "random_walk"}
    assert all(set(panel) == PANEL for panel in smoothness["controls"].values())
    speed = {"tokens_per_s", "step_ms_median", "first_step_s", "peak_memory_mb"}
    assert set(content["throughput"]) == speed
    assert all(value > 0 for value in content["throughput"].values())
    assert set(content["final"]) == FINAL
    assert content["final"]["floor_nats"] == content["final"]["uniform_nats"]
    hidden = smoothness["hidden_mean"]
    assert [layer["layer"] for layer in hidden["layers"]] == [
        *("embedding", "block 1", "block 2", "head")
    ]
    assert all(len(layer["offset"]) == 8 for layer in hidden["layers"])
    assert content["geometry"]["tied"]
    assert content["geometry"]["output"] is None
    assert len(content["geometry"]["input"]["pairs"]) == 6
    assert content["order"]["windows"] == hidden["windows"] == 4


def test_the_lengths_are_refused_by_the_declared_policy_and_scored_by_the_further_one(
    finished: Path,
) -> None:
    rows = tiny.results(finished)["lengths"]
    found = {(row["factor"], row["protocol"], row["beyond"]): row["status"] for row in rows}
    expected = {
        (factor, protocol, beyond): "refused" if factor > 1 and beyond == "error" else "ok"
        for factor in (0.5, 1, 2, 4, 8)
        for protocol in ("block", "sliding")
        for beyond in ("error", "clamp")
        if factor > 1 or beyond == "error"
    }
    assert found == expected
    for row in rows:
        if row["status"] == "refused":
            assert "8" in row["reason"]
            assert row["loss_nats"] is None
        else:
            assert row["reason"] is None
            assert (row["stride"] is None) == (row["protocol"] == "block")
    counts = {(row["protocol"], row["tokens_scored"]) for row in rows if row["status"] == "ok"}
    assert len(counts) == 2
    assert dict(counts)["block"] >= 64
    assert dict(counts)["sliding"] >= 32


def test_the_metrics_are_the_record_of_the_steps(finished: Path) -> None:
    rows = tiny.metrics(finished)
    assert [row["step"] for row in rows] == [4]
    assert rows[-1]["train_loss_nats"] == tiny.results(finished)["final"]["train_loss_nats"]
    assert rows[-1]["tokens"] == 4 * 32 * 8


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
@pytest.mark.parametrize("output", ["tied", "untied"])
def test_the_weights_load_into_the_model_of_the_same_words(position: str, output: str) -> None:
    words = [*tiny.WORDS, f"position={position}", f"output={output}", "trainer.max_steps=1"]
    run = tiny.train(*words)
    saved = load_file(run / "model.safetensors")
    model = andrea_exp.compose(*words).build_model()
    drawn = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(saved)
    tables = [name for name, value in saved.items() if value.shape == (11, 16)]
    assert len(tables) == {"tied": 1, "untied": 2}[output]
    assert any("position" in name for name in saved) == (position == "learned")
    assert not all(torch.equal(drawn[name], saved[name]) for name in saved)
    cost = tiny.results(run)["cost"]
    assert cost["total"] == sum(value.numel() for value in saved.values())
    assert cost["buffers"] == {"learned": 0, "sinusoidal": 8 * 16}[position]


def test_the_report_stands_beside_the_results(finished: Path) -> None:
    text = (finished / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "learned" in text


def test_a_person_sees_the_place_three_tables_and_the_paths(place: Path, capsys: Said) -> None:
    assert main(list(tiny.WORDS)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    run = tiny.only_run(place)
    assert lines[0] == f"outputs/runs/{run.name}"
    for title in ("Parameters", "Loss by length", "Smoothness"):
        assert any(line.startswith(title) for line in lines)
    assert f"report  outputs/runs/{run.name}/report.html" in lines
    assert len(lines) < 45
    assert max(map(len, lines)) <= 80


def test_a_finished_run_is_left_as_it_is(place: Path, capsys: Said) -> None:
    assert main(list(tiny.WORDS)) == 0
    run = tiny.only_run(place)
    before = {name: (run / name).read_bytes() for name in WRITTEN - {"run.log"}}
    assert job.main([str(run)]) == 0
    assert "completed already" in capsys.readouterr().err
    assert {name: (run / name).read_bytes() for name in WRITTEN - {"run.log"}} == before


@pytest.mark.usefixtures("place")
def test_a_drawn_seed_is_recorded_and_can_be_given_again() -> None:
    drawn, again = [*tiny.WORDS, "seed=null", "name=drawn"], [*tiny.WORDS, "name=again"]
    first = tiny.train(*drawn)
    seed = tiny.manifest(first)["seed"]
    assert frozen(first)["config"]["seed"] == seed
    assert seed not in {None, 0}
    second = tiny.train(*again, f"seed={seed}")
    assert tiny.weights(second) == tiny.weights(first)
    assert tiny.metrics(second) == tiny.metrics(first)


def test_the_home_directory_and_keys_are_written_nowhere(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, key = place / "somebody", "hf_" + "a1" * 16
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SERVICE_API_KEY", key)
    monkeypatch.chdir(home)
    words = [*tiny.WORDS, f"outputs={home}/results", f"question='why, {key}'"]
    assert main([*words, "model.num_layers=0", "position=rope"]) == 0
    (run,) = (home / "results" / "runs").iterdir()
    assert frozen(run)["config"]["outputs"] == "~/results"
    assert (run / "run.log").read_text(encoding="utf-8")
    for path in run.rglob("*"):
        if path.is_file():
            assert str(home).encode() not in path.read_bytes(), path.name
            assert key.encode() not in path.read_bytes(), path.name


def test_a_tilde_in_outputs_is_the_home_directory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = place / "somebody"
    monkeypatch.setenv("HOME", str(home))
    run = freeze_single(request([*tiny.WORDS, "outputs='~/results'"])).path
    assert run.parent == home / "results" / "runs"
    assert {path.name for path in place.iterdir()} == {"somebody"}
    there = freeze_single(request([*tiny.WORDS, f"outputs={home}/results"])).path
    assert there.parent == run.parent


def test_a_scheme_in_attention_without_attention_warns_once_and_completes(
    place: Path, capsys: Said
) -> None:
    assert main([*tiny.WORDS, "model.num_layers=0", "position=rope"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("WARNING: position=rope acts in attention alone")
    assert "model.num_layers=0" in line
    assert tiny.manifest(tiny.only_run(place))["status"] == "completed"


def test_a_loss_that_is_not_finite_ends_the_run_with_its_step(place: Path, capsys: Said) -> None:
    assert main([*tiny.WORDS, "optimizer.lr=1e30"]) == 1
    run = tiny.only_run(place)
    content = tiny.manifest(run)
    assert (content["status"], content["failure"]["type"]) == ("nan", "NonFiniteLoss")
    step = tiny.metrics(run)[-1]["step"]
    assert f"not finite at step {step}" in content["failure"]["message"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"ERROR: {content['failure']['message']}"
    assert not (run / "results.json").exists()


def test_the_configuration_can_be_printed_before_anything_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr("sys.argv", ["andrea-exp"])
    assert main(["--cfg", "job", "position=rope", "seed=5"]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert (shown["position"]["name"], shown["seed"]) == ("rope", 5)
    assert tiny.files(place) == set()


def test_a_composition_builds_a_plain_module() -> None:
    model = andrea_exp.compose("system=toy", "position=rope", "data=noise").build_model()
    ids = torch.arange(2 * 5).reshape(2, 5)
    assert model(ids).shape == (2, 5, 257)


def test_composing_imports_neither_the_trainer_nor_the_logger() -> None:
    code = """
import sys, andrea_exp
andrea_exp.compose("system=toy", "position=rope")
print({"lightning", "wandb", "matplotlib"} & set(sys.modules))
"""
    assert tiny.python(code) == "set()"


def test_schemes_start_from_equal_shared_tensors() -> None:
    states = {}
    for position in ("learned", "sinusoidal", "rope", "alibi", "none"):
        run = andrea_exp.compose(*tiny.WORDS, f"position={position}", "output=untied")
        states[position] = run.build_model().state_dict()
    shared = set.intersection(*(set(state) for state in states.values()))
    assert {name for name in states["learned"] if "position" not in name} == shared
    for position, state in states.items():
        assert all(torch.equal(state[name], states["learned"][name]) for name in shared), position


def test_the_hash_in_a_directory_is_that_of_the_same_request(finished: Path) -> None:
    asked = freeze(request(list(tiny.WORDS)))
    assert frozen(finished)["recipe_hash"] == asked.recipe_hash
    assert json.dumps(frozen(finished)["config"]) == json.dumps(asked.config)
