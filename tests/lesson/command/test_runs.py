"""What claims read from runs: every number is that of the records, with the seed as the unit."""

import itertools
import json
import shlex
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from andrea_exp.config.request import request
from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.lesson.claim import Claim, Value, Verdict, measured
from andrea_exp.lesson.claims import questions
from andrea_exp.lesson.models import position_shares, rebuilt
from andrea_exp.report.page import read
from andrea_exp.report.table import Table, table_of
from benchmarks.synthetic_runs import make_run
from tests.commands import tiny

SEEDS = range(6)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three schemes, tied and untied, six seeds: numbers without training."""
    place = tmp_path_factory.mktemp("outputs")
    for position, output, seed in itertools.product(
        ("learned", "sinusoidal", "alibi"), ("tied", "untied"), SEEDS
    ):
        make_run(place, position=position, output=output, seed=seed)
    return place


@pytest.fixture(scope="module")
def runs(sweep: Path) -> Table:
    return table_of(read([sweep]))


def read_from(table: Table, number: int) -> Claim:
    """A claim, without the part that needs no runs."""
    (question,) = (each for each in questions() if each.number == number)
    found = list(question.trained(table)) if question.trained else []
    return Claim(
        number=number,
        question="",
        says="",
        right=None,
        live=[],
        read=[each for each in found if isinstance(each, Value)],
        by_training=True,
        plots=[],
        command=None,
    )


def numbers(claim: Claim) -> dict[str, Any]:
    return {value.name: value.value for value in claim.values}


def results(sweep: Path, position: str, output: str) -> list[dict[str, Any]]:
    return [tiny.results(sweep / f"position={position},output={output},seed={s}") for s in SEEDS]


def val_losses(sweep: Path, position: str, output: str) -> list[float]:
    return [each["final"]["val_loss_nats"] for each in results(sweep, position, output)]


def rises(sweep: Path, position: str, output: str) -> list[float]:
    """At 2 T, by block."""
    return [
        row["rise_nats"]
        for each in results(sweep, position, output)
        for row in each["lengths"]
        if (row["factor"], row["protocol"]) == (2.0, "block")
    ]


@pytest.mark.parametrize("number", [12, 21, 22, 23, 24, 27])
def test_a_sweep_gives_a_claim_its_numbers(number: int, runs: Table) -> None:
    (question,) = (each for each in questions() if each.number == number)
    claim = measured(question, runs)
    assert claim.command is None
    assert claim.verdict is not Verdict.needs_a_run
    assert read_from(runs, number).values


def test_controls_alone_do_not_make_a_claim_about_training_hold(runs: Table) -> None:
    (question,) = (each for each in questions() if each.number == 12)
    without = measured(question, None)
    assert all(value.holds for value in without.values)
    assert without.verdict is Verdict.needs_a_run
    assert measured(question, runs).verdict is Verdict.holds


def test_tied_and_untied_are_paired_by_seed_within_each_scheme(sweep: Path, runs: Table) -> None:
    found = numbers(read_from(runs, 21))
    for position in ("learned", "sinusoidal", "alibi"):
        tied, untied = (val_losses(sweep, position, output) for output in ("tied", "untied"))
        expected = fmean(one - other for one, other in zip(tied, untied, strict=True))
        name = f"{position}, tied minus {position}, untied, nats, 6 seeds"
        assert found[name] == pytest.approx(expected, abs=1e-12)


def test_a_difference_has_the_t_interval_over_its_pairs(sweep: Path, runs: Table) -> None:
    values = read_from(runs, 21).values
    (place,) = (i for i, value in enumerate(values) if value.name.startswith("alibi"))
    pairs = [val_losses(sweep, "alibi", output) for output in ("tied", "untied")]
    differences = [one - other for one, other in zip(*pairs, strict=True)]
    half = 2.5705818 * stdev(differences) / 6**0.5  # t with 5 degrees of freedom
    mean = fmean(differences)
    assert values[place + 1].value == pytest.approx([mean - half, mean + half], abs=1e-8)


def test_schemes_are_compared_with_the_learned_table_of_the_same_output(
    sweep: Path, runs: Table
) -> None:
    found = numbers(read_from(runs, 22))
    one, base = (val_losses(sweep, position, "tied") for position in ("alibi", "learned"))
    assert found["alibi, tied: loss at T, nats, 6 seeds"] == pytest.approx(fmean(one))
    name = "alibi, tied minus learned, tied, nats, 6 seeds"
    assert found[name] == pytest.approx(fmean(one) - fmean(base), abs=1e-12)
    assert not any(name.startswith("learned") and "minus" in name for name in found)


def test_a_rise_past_the_trained_length_is_decided_by_six_seeds(sweep: Path, runs: Table) -> None:
    claim = read_from(runs, 24)
    assert claim.verdict is Verdict.holds
    found = numbers(claim)
    rise = rises(sweep, "sinusoidal", "tied")
    assert found["sinusoidal, tied: rise at 2T, 6 seeds"] == pytest.approx(fmean(rise))
    flat = rises(sweep, "alibi", "tied")
    name = "rise at 2T, sinusoidal, tied minus alibi, tied, 6 seeds"
    assert found[name] == pytest.approx(fmean(rise) - fmean(flat))
    assert found["learned, tied · past T: clamp: rise at 2T, 4T, 8T, nats"][0] > 1


def edited(place: Path, *, rise: float, seeds: int) -> Table:
    """Sinusoidal runs that rise by this much at every length past T, give or take a little."""
    for seed in range(seeds):
        run = make_run(place, position="sinusoidal", seed=seed)
        content = tiny.results(run)
        for row in content["lengths"]:
            row["rise_nats"] = rise + 0.01 * seed if row["factor"] > 1 else 0.0
        (run / "results.json").write_text(json.dumps(content))
    return table_of(read([place]))


@pytest.mark.parametrize(
    ("rise", "seeds", "verdict"),
    [
        (0.5, 6, Verdict.holds),
        (-0.5, 6, Verdict.fails),
        (-0.025, 6, Verdict.measured),
        (-0.5, 5, Verdict.measured),
    ],
    ids=["rises", "falls", "undecided", "a screen"],
)
def test_a_claim_fails_only_where_its_seeds_say_so(
    rise: float, seeds: int, verdict: Verdict, tmp_path: Path
) -> None:
    assert read_from(edited(tmp_path, rise=rise, seeds=seeds), 24).verdict is verdict


def test_smoothness_stands_beside_its_controls(sweep: Path, runs: Table) -> None:
    found = numbers(read_from(runs, 12))
    panels = [each["smoothness"] for each in results(sweep, "learned", "untied")]
    trained = fmean(each["trained"]["centred_adjacent_cosine"] for each in panels)
    shuffled = fmean(each["controls"]["shuffled"]["centred_adjacent_cosine"] for each in panels)
    assert found["learned, untied: centred, trained"] == pytest.approx(trained)
    name = "learned, untied: centred, trained minus shuffled, 6 seeds"
    assert found[name] == pytest.approx(trained - shuffled)
    assert not any("sinusoidal" in name for name in found)


def test_runs_that_do_not_tell_leave_the_command_there(tmp_path: Path) -> None:
    make_run(tmp_path, position="rope")
    table = table_of(read([tmp_path]))
    for number in (12, 14, 21, 22, 23, 26, 28):
        (question,) = (each for each in questions() if each.number == number)
        assert list(question.trained(table) if question.trained else []) == []


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny trainings on the grammar: untied with two initial deviations, and tied."""
    place = tmp_path_factory.mktemp("words")
    small = [word for word in tiny.WORDS if not word.startswith(("data=noise", "data.vocab"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for each in (["output=untied"], ["output=tied"], ["output=untied", "embedding.std=0.2"]):
            tiny.train(*small, "data=grammar", *each)
    return place


def test_a_rebuilt_model_is_the_trained_one_and_its_beginning(words: Path) -> None:
    for run in table_of(read([words])).completed:
        models = rebuilt(run)
        assert models is not None
        saved = load_file(run.record.path / "model.safetensors")
        for name, tensor in models.trained.state_dict().items():
            assert np.array_equal(tensor.numpy(), saved[name])
        assert not np.array_equal(
            models.initial.state_dict()["embedding.weight"].numpy(), saved["embedding.weight"]
        )


def expected_contrast(rows: np.ndarray) -> float:
    """Within minus across, from the definition."""
    unit = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    kind = {word: number for number, part in enumerate(ENGLISH) for word in part}
    pairs = itertools.combinations([w for w in ENGLISH.words if w in kind], 2)
    alike: dict[bool, list[float]] = {True: [], False: []}
    for one, other in pairs:
        cosine = unit[ENGLISH.words.index(one)] @ unit[ENGLISH.words.index(other)]
        alike[kind[one] == kind[other]].append(float(cosine))
    return fmean(alike[True]) - fmean(alike[False])


def test_closeness_of_words_is_that_of_the_saved_rows(words: Path) -> None:
    table = table_of(read([words]))
    found = numbers(read_from(table, 14))
    for run in table.completed:
        saved = load_file(run.record.path / "model.safetensors")
        sides = {"input": "embedding.weight", "output": "output.weight"}
        if "output.weight" not in saved:
            sides = {"tied": "embedding.weight"}
        for side, name in sides.items():
            values = found[f"{run.arm}, {side} rows: within minus across, at init and trained"]
            assert values[1] == pytest.approx(expected_contrast(saved[name]), abs=1e-6)
    assert any("rise by training, 1 seed: a screen" in name for name in found)


def test_the_weight_of_positions_is_that_of_the_saved_rows(words: Path) -> None:
    table = table_of(read([words]))
    found = numbers(read_from(table, 26))
    run = table.completed[0]
    saved = load_file(run.record.path / "model.safetensors")
    norms = [
        np.linalg.norm(saved[name].astype(float), axis=1).mean()
        for name in ("position.weight", "embedding.weight")
    ]
    assert found[f"{run.arm}: norm ratio trained"] == pytest.approx(norms[0] / norms[1], rel=1e-5)
    shares = found[f"{run.arm}: variance by position, %, by layer"]
    assert len(shares) == 3
    assert all(-5 < share < 100 for share in shares)


def test_the_share_of_positions_is_all_where_tokens_are_equal(words: Path) -> None:
    models = rebuilt(table_of(read([words])).completed[0])
    assert models is not None
    import torch  # noqa: PLC0415

    same = torch.full((6, 8), 3)
    assert position_shares(models.trained, same) == pytest.approx([1, 1, 1], abs=1e-6)


def test_losses_by_std_are_those_of_runs_that_differ_in_it_alone(words: Path) -> None:
    table = table_of(read([words]))
    found = numbers(read_from(table, 28))
    by_std = {
        run.record.config["embedding"]["std"]: run.final("val_loss")
        for run in table.completed
        if run.record.config["output"]["name"] == "untied"
    }
    assert len(by_std) == 2
    for std, loss in by_std.items():
        assert found[f"std {std:g}: loss at T, nats, 1 runs"] == loss
    known = [loss for loss in by_std.values() if loss is not None]
    assert found["spread over std, nats"] == pytest.approx(max(known) - min(known))


def jobs(command: str) -> list[list[str]]:
    """Every job of a command line, as overrides."""
    words = [word for word in shlex.split(command)[3:] if word != "-m"]
    values = [
        [f"{word.partition('=')[0]}={value}" for value in word.partition("=")[2].split(",")]
        for word in words
    ]
    return [list(job) for job in itertools.product(*values)]


COMMANDS = [question.command for question in questions() if question.command]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_named_composes(command: str) -> None:
    assert command.startswith("python -m andrea_exp -m ")
    first, *_, last = [*jobs(command), *jobs(command)]
    for job in (first, last):
        assert request(job).config


def test_the_sweeps_that_are_named_have_enough_seeds_for_a_verdict() -> None:
    decided = [question for question in questions() if question.number in (12, 14, 21, 22)]
    for question in decided:
        assert question.command is not None
        assert "seed=0,1,2,3,4,5" in question.command
