"""What README.md and CONTRIBUTING.md tell people to type is typed here, or by CI through make."""

import dataclasses
import importlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import andrea_exp
from andrea_exp.command import DONE
from andrea_exp.config.request import request
from andrea_exp.data.grammar import Grammar
from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.drift import Drift
from andrea_exp.evaluate.geometry import ClassContrast, Geometry, TableGeometry
from andrea_exp.evaluate.hidden_states import HiddenLayer, HiddenMean
from andrea_exp.evaluate.length_row import Bucket, LengthRow
from andrea_exp.evaluate.order import Order
from andrea_exp.evaluate.overlap import Overlap
from andrea_exp.evaluate.permutation import Permutation
from andrea_exp.evaluate.probe import headline
from andrea_exp.evaluate.results import Final, Results
from andrea_exp.evaluate.slots import SlotLoss
from andrea_exp.evaluate.smoothness import Smoothness
from andrea_exp.freeze import freeze_single
from andrea_exp.position.beyond import Beyond
from benchmarks.synthetic_runs import make_run
from tests.options import CONF

ROOT = Path(andrea_exp.__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`((?:python -m andrea_exp|make |pre-commit )[^`]*)`")
TINY = [
    *("logger.mode=disabled", "trainer.max_steps=2", "optimizer.schedule.warmup_steps=1"),
    *("data=noise", "data.vocab=37", "data.validation_tokens=2000", "data.batch_size=2"),
    *("model.d_model=8", "model.num_heads=2", "model.context=8", "evaluation.length_factors=[1,2]"),
    *("evaluation.block_targets=64", "evaluation.sliding_targets=32", "evaluation.anchors=2"),
]
"""Words that make any run of the README one of a second."""

OF_COMPOSITIONS = ("andrea_exp", "andrea_exp.bench")
"""Programs that work at the sizes of a composition."""

OF_NOISE = ("data=noise", "data.vocab", "data.validation_tokens")
"""Those of them that no other data set has."""

ON_SLURM = (
    "python -m andrea_exp -m name=ablation position=learned,rope seed=0,1,2 hydra/launcher=slurm",
    "python -m andrea_exp -m name=ablation position=learned,rope seed=0,1,2 hydra/launcher=slurm "
    "sweep.wait=false",
    "python -m andrea_exp.status outputs/ablation",
)
"""Lines for people with a cluster, in the order in which they work."""

BY_MAKE = {
    "python3 -m venv .venv": '"$$chosen" -m venv $(VENV)',
    ".venv/bin/pip install -c constraints.txt -e .": "$(INSTALL) -e .\n",
    ".venv/bin/pip install -c constraints.txt -e '.[test]'": "$(INSTALL) -e '.[test]'",
    ".venv/bin/python -m andrea_exp": "$(VENV)/bin/python -m andrea_exp\n",
    ".venv/bin/python -m pytest -n 2": "$(VENV)/bin/python -m pytest -n $(JOBS)",
}
"""Lines for people without make, beside the words by which make runs the same."""
ELSEWHERE = {
    "make picture": "minutes of training; its parts are tested in tests/report",
    "pre-commit install": "changes the checkout's own hooks",
    "python -m andrea_exp position=binary": "tests/test_extension.py",
    "python -m andrea_exp -m name=mine position=binary,sinusoidal,rope seed=0,1,2": "the same",
    "python -m andrea_exp -m experiment=digits": "the same",
    "python -m andrea_exp.report outputs/digits --keep experiments/digits": "the same",
} | dict.fromkeys(ON_SLURM, "tests/slurm/test_readme.py, in `make test-slurm`")


def typed() -> list[str]:
    """Every command of both pages, in their order."""
    found: list[str] = []
    for page in (README, CONTRIBUTING):
        for language, block in BLOCK.findall(page):
            if language == "sh":
                found += [line.partition(" #")[0].strip() for line in block.splitlines()]
        found += [" ".join(words.split()) for words in INLINE.findall(BLOCK.sub("", page))]
    return list(dict.fromkeys(line for line in found if line))


PROGRAM = [line for line in typed() if line.startswith("python -m ") and line not in ELSEWHERE]


def test_every_command_is_run_by_a_test_or_by_make_in_ci() -> None:
    assert len(PROGRAM) >= 9
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (targets,) = re.findall(r"^for target in (.*); do$", script, re.MULTILINE)
    for line in typed():
        if line in BY_MAKE:
            assert BY_MAKE[line] in MAKEFILE
        elif line.startswith("make ") and line not in ELSEWHERE:
            assert line.removeprefix("make ") in targets.split() or f"\n{line} " in script
        else:
            assert line in PROGRAM or line in ELSEWHERE, f"nobody runs `{line}`"
    assert set(typed()) >= {*BY_MAKE, *ELSEWHERE}


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run that waits to be executed, in a current folder that holds nothing else."""
    monkeypatch.chdir(tmp_path)
    return freeze_single(request(TINY)).path


@pytest.mark.parametrize("line", PROGRAM)
def test_a_command_works_as_typed(
    line: str, frozen: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, *words = shlex.split(line)[2:]
    if module == "andrea_exp.lesson":  # reads what a run found
        words = [str(make_run(Path("done"))) if word == "RUN" else word for word in words]
    words = [str(frozen) if word in {"DIR", "RUN"} else word for word in words if word != "..."]
    if module in OF_COMPOSITIONS and not {"--help", "--cfg"} & {*words}:
        words += TINY
    if "FILE" in words:
        save_file({"wpe.weight": torch.randn(5, 4)}, "weights.safetensors")
        words = ["weights.safetensors" if word == "FILE" else word for word in words]
    if "data=text" in words:
        Path("book.txt").write_text((ROOT / "README.md").read_text(encoding="utf-8"))
        words = [word for word in words if not word.startswith(OF_NOISE)] + ["tokenizer.size=300"]
    if any(word.startswith("experiment=") for word in words):  # one seed, and the lengths it needs
        words = [word for word in words if not word.startswith("evaluation.length")] + ["seed=0"]
    if "data=grammar" in words:
        words = [word for word in words if word not in TINY or not word.startswith(OF_NOISE[:2])]
    monkeypatch.setattr(sys, "argv", [module, *words])
    program = importlib.import_module(module)
    if hasattr(program, "__path__"):
        program = importlib.import_module(f"{module}.__main__")
    assert program.main() == DONE
    said = capsys.readouterr().out
    assert said.strip()
    if "resume=true" in words:
        assert said.splitlines()[0] == str(frozen)


def run_lines_of_python() -> dict[str, Any]:
    """What is bound after every block of Python of the README, in their order."""
    names: dict[str, Any] = {}
    for language, block in BLOCK.findall(README):
        if language == "python":
            exec(block, names)
    return names


def test_the_lines_of_python_do_what_they_say() -> None:
    names = run_lines_of_python()
    model, ids = names["model"], torch.arange(12).view(2, 6)
    assert model(ids).shape == (2, 6, 257)
    losses = model.losses(ids, ids.roll(-1))
    assert losses.shape == (2, 6)
    assert losses.mean() > 5


def test_the_lessons_classes_are_found_under_their_new_names() -> None:
    names = run_lines_of_python()
    parts = [names["tokens"], names["learned"], names["sinusoid"]]
    rows = [*table_below("| the lesson's class | option | class | gives |")]
    assert len(rows) == 4
    for part, (_, option, path, _) in zip(parts, rows[:3], strict=True):
        module, _, name = path.strip("`").rpartition(".")
        assert type(part) is getattr(importlib.import_module(module), name)
        group, _, chosen = option.strip("`").partition("=")
        assert (CONF / group / f"{chosen}.yaml").is_file()
    assert [sum(p.numel() for p in part.parameters()) for part in parts] == [20_480, 8_192, 0]
    assert names["learned_rows"].shape == names["fixed_rows"].shape == (32, 64)
    vectors, ids = names["vectors"], names["ids"]
    assert torch.equal(vectors, names["tokens"].weight[ids])
    assert torch.equal(names["composed"], vectors + names["learned"].weight[:32])
    assert names["composed"].shape == (4, 32, 64)


def test_every_place_of_the_walk_exists() -> None:
    walk = [*table_below("| stage | where | shape |")]
    places = [place for row in walk for place in re.findall(r"`([^`]*)`", f"{row[0]} {row[1]}")]
    assert len(places) > 12
    for place in places:
        path = ROOT / place
        assert path.is_dir() if place.endswith("/") else path.is_file(), place
    packages = {f"andrea_exp/{path.parent.name}/" for path in ROOT.glob("andrea_exp/*/__init__.py")}
    assert packages <= {*places}


def test_the_page_names_every_dependency_and_no_other() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    wanted = {re.split(r"[<>=]", each)[0] for each in project["dependencies"]}
    named = [name for row in table_below("| package | for |") for name in row[0].split(", ")]
    assert sorted(named) == sorted(wanted)


def test_every_policy_past_the_trained_length_is_named() -> None:
    assert [each.name for each in Beyond if f"`{each.name}`" not in README] == []


def test_the_grammar_is_as_described() -> None:
    data = andrea_exp.compose("data=grammar").load_data()
    assert isinstance(data, Grammar)
    _, _, after = README.partition("## A language with a known floor")
    part, _, _ = after.partition("\n## ")
    assert f": {data.vocab} words" in part
    assert f"towards {data.floor_nats:.3f} nats\nper word" in part
    (example,) = (text for language, text in BLOCK.findall(part) if language == "text")
    ids = [data.words().index(word) for word in example.split()]
    assert np.isfinite(data.optimal_nats(np.array([ids]))).all()
    slots = re.findall(r"`([^`]*)`", part[part.index("The **slots**") :].partition(". Their")[0])
    assert len(slots) == 4
    assert set(slots) <= set(data.slots().names)


def test_the_keys_of_results_are_as_described() -> None:
    part = README[README.index("In `results.json`") :].partition("\n\n")[0]
    rows = {LengthRow: ["loss_nats", "floor_nats", "per_position"], Bucket: ["floor_nats"]}
    rows |= {SlotLoss: ["slot", "loss_nats", "floor_nats", "accuracy", "tokens"]}
    rows |= {Results: ["lengths", "slots"]}
    for record, keys in rows.items():
        assert set(keys) <= {field.name for field in dataclasses.fields(record)}
        assert all(f"`{key}`" in part for key in keys)
    final = re.findall(r"`final\.(\w+)`", part)
    assert sorted(final) == ["floor_nats", "val_loss_nats"]
    assert set(final) <= {field.name for field in dataclasses.fields(Final)}


def test_the_keys_of_smoothness_and_of_probes_are_as_described() -> None:
    part = README[README.index("`smoothness` has a panel") :].partition("In `metrics.jsonl`")[0]
    for record in (Permutation, Drift, Overlap):
        named = [field.name for field in dataclasses.fields(record)]
        absent = [name for name in named if f"`{name}`" not in part]
        assert absent in ([], ["shuffles"], ["cosines"])
    assert {"init", "trained", "change", "permutation", "drift", "overlap", "row_cosines"} <= {
        *re.findall(r"`(\w+)`", part)
    } & {field.name for field in dataclasses.fields(Smoothness)}
    probes = README[README.index("In `metrics.jsonl`") :].partition("\n\n")[0]
    for name in (*headline(torch.eye(4)), "val_loss_nats"):
        assert f"`{name}`" in probes
    for name in re.findall(r"`evaluation\.(\w+)`", part + probes):
        assert name in {field.name for field in dataclasses.fields(EvaluationConfig)}


def test_the_keys_of_what_is_inside_the_model_are_as_described() -> None:
    part = README[README.index("`smoothness.hidden_mean` has") :].partition("\n\n")[0]
    records = (Smoothness, HiddenMean, HiddenLayer, Order, Geometry, TableGeometry, ClassContrast)
    known = {field.name for record in records for field in dataclasses.fields(record)}
    named = set(re.findall(r"`(?:smoothness\.)?(\w+)`", part)) - {"embedding", "head"}
    assert len(named) > 15
    assert named <= known | {"order", "geometry"}


def table_below(head: str) -> Iterator[list[str]]:
    """The cells of every row of the README's table with this head."""
    for row in README[README.index(head) :].splitlines()[2:]:
        if not row.startswith("|"):
            return
        yield [cell.strip() for cell in row.strip("|").split("|")]
