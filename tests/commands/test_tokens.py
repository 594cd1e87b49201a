"""Pairs of tokens and their neighbours, from the command line to the results."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import andrea_exp
from andrea_exp import diagnose, job
from andrea_exp.__main__ import main
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from tests.commands import tiny
from tests.commands.test_refusals import refused

Said = pytest.CaptureFixture[str]
LEAN = (*tiny.SMALL, *tiny.SHORT, *tiny.QUICK, *tiny.RUNNING, "evaluation.length_factors=[1]")
GRAMMAR = ("data=grammar", "data.validation_tokens=3000", *LEAN)
UNKNOWN = {
    "evaluation.pairs=[[cat,horse]]": [
        "evaluation.pairs: 'horse' is not a word of the data",
        "the",
    ],
    "evaluation.pairs=[[cat]]": [
        "evaluation.pairs: ['cat'] must be two texts",
        "pairs=[[cat,dog]]",
    ],
    "evaluation.pairs=[cat,dog]": [
        "evaluation.pairs=['cat', 'dog'] must be a list of lists",
        "pairs=[['cat', 'dog']]",
    ],
    "evaluation.pairs=cat": ["evaluation.pairs=['cat'] must be a list of lists"],
    "evaluation.pairs=[[{a:1},cat]]": ["evaluation.pairs=[[{'a': 1}, 'cat']]"],
    "evaluation.neighbours=0": ["evaluation.neighbours must be at least 1, got 0"],
    "evaluation.hidden_windows=1": ["evaluation.hidden_windows must be at least 2, got 1"],
    "evaluation.order_windows=0": ["evaluation.order_windows must be at least 1, got 0"],
    "evaluation.frequent_tokens=-1": ["evaluation.frequent_tokens must be at least 0"],
}


@pytest.mark.parametrize("word", UNKNOWN)
def test_what_is_no_pair_of_tokens_is_refused_before_anything_is_written(
    word: str, place: Path, capsys: Said
) -> None:
    line = refused(main, [*GRAMMAR, word], place=place, said=capsys)
    for part in UNKNOWN[word]:
        assert part in line


def test_every_job_of_a_sweep_is_asked_for_its_own_pairs(place: Path, capsys: Said) -> None:
    pairs = "evaluation.pairs=[[cat,dog]],[[cat,horse]]"
    line = refused(main, ["-m", *GRAMMAR, pairs], place=place, said=capsys)
    assert "'horse' is not a word" in line


def pairs(run: Path, side: str = "input") -> list[dict[str, Any]]:
    return tiny.results(run)["geometry"][side]["pairs"]


def test_a_resumed_run_knows_the_rows_that_its_seed_drew(place: Path) -> None:
    words = (*GRAMMAR, "output=untied", "evaluation.pairs=[[Bob,piano]]", "seed=3")
    run = place / tiny.train(*words, "trainer.checkpoint_every_steps=2")
    whole = tiny.results(run)["geometry"]
    (run / "results.json").unlink()
    content = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
    (run / "manifest.json").write_text(json.dumps(content | {"status": "interrupted"}))
    assert job.main([str(run)]) == 0
    assert tiny.results(run)["geometry"] == whole
    model = andrea_exp.compose(*words).build_model()
    trained = load_file(run / "model.safetensors")
    ids = torch.tensor([model_id(word) for word in ("Bob", "piano")])
    for side, rows, name in (
        ("input", model.embedding.token_rows(), "embedding.weight"),
        ("output", model.output.rows(embedding=model.embedding), "output.weight"),
    ):
        found = pairs(run, side)[-1]
        first, second = rows.detach()[ids].double()
        assert found["init"]["dot"] == pytest.approx(float(first @ second), rel=1e-9)
        first, second = trained[name][ids].double()
        assert found["trained"]["dot"] == pytest.approx(float(first @ second), rel=1e-9)
        assert found["init"] != found["trained"]


def model_id(word: str) -> int:
    words = andrea_exp.compose(*GRAMMAR).load_data().words()
    assert words is not None
    return words.index(word)


@pytest.fixture(scope="module")
def untied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("untied")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return place / tiny.train(*GRAMMAR, "output=untied", "evaluation.neighbours=3")


def neighbours(run: Path, text: str, capsys: Said) -> dict[str, Any]:
    capsys.readouterr()
    assert diagnose.main([str(run), "--neighbours", text, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_neighbours_of_any_token_are_told(untied: Path, capsys: Said) -> None:
    recorded = tiny.results(untied)["geometry"]
    told = neighbours(untied, "cat", capsys)
    for side in ("input", "output"):
        (cat,) = (each for each in recorded[side]["neighbours"] if each["token"] == "cat")
        assert told[side] == cat["nearest"]
        assert len(told[side]) == 3
    assert neighbours(untied, "Bob", capsys)["token"] == "Bob"


def test_the_terminal_has_a_column_for_each_table(untied: Path, capsys: Said) -> None:
    assert diagnose.main([str(untied), "--neighbours", "dog"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Nearest to dog, by the cosine of trained rows"
    assert lines[1].split() == ["input", "rows", "cosine", "output", "rows", "cosine"]
    assert len(lines) == 5


def refusal(words: Sequence[str], capsys: Said) -> str:
    capsys.readouterr()
    assert diagnose.main(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_neighbours_of_what_is_no_token_or_no_finished_run_are_refused(
    untied: Path, place: Path, capsys: Said
) -> None:
    text = refusal([str(untied), "--neighbours", "horse"], capsys)
    assert "--neighbours: 'horse' is not a word of the data; choose of . the" in text
    waiting = freeze_single(request(GRAMMAR)).path
    text = refusal([str(place / waiting), "--neighbours", "cat"], capsys)
    assert "has no model.safetensors: the run has not come to its end" in text
    file = untied / "model.safetensors"
    assert "not a run directory" in refusal([str(file), "--neighbours", "cat"], capsys)
    text = refusal([str(untied), "--neighbours", "cat", "--tensor", "wpe"], capsys)
    assert "leave out --tensor" in text


# Four deviations of the mean of a class's 66 cosines at init, of 1/sqrt(32) each.
CHANCE = 4 * 32**-0.5 / 66**0.5


def contrasts(steps: int) -> list[dict[str, Any]]:
    """Of the input and the output rows, after so many steps on the grammar."""
    run = tiny.train(
        *("data=grammar", "data.validation_tokens=3000", "output=untied", "embedding.std=0.1"),
        *("model.d_model=32", "model.num_heads=2", "model.context=16", "model.num_layers=1"),
        *(f"trainer.max_steps={steps}", "optimizer.lr=1e-2", "optimizer.schedule.warmup_steps=0"),
        *("position=rope", *tiny.QUICK, *tiny.RUNNING, "evaluation.length_factors=[1]"),
    )
    geometry = tiny.results(run)["geometry"]
    return [geometry[side]["contrast"] for side in ("input", "output")]


@pytest.mark.usefixtures("place")
def test_training_brings_words_together_that_are_used_alike() -> None:
    for contrast in contrasts(400):
        assert contrast["name"] == "pets"
        assert set(contrast["trained"]["to"]) == {"weekdays", "instruments"}
        assert abs(contrast["init"]["difference"]) < CHANCE
        assert contrast["rise"] > 1.4 * CHANCE


@pytest.mark.usefixtures("place")
def test_two_steps_of_training_do_not() -> None:
    assert all(abs(contrast["rise"]) < 0.7 * CHANCE for contrast in contrasts(2))
