from dataclasses import fields
from pathlib import Path

from andrea_exp.config.run import Running
from andrea_exp.report.labels import NOT_RECIPE, names
from andrea_exp.report.page import read
from benchmarks.synthetic_runs import make_run


def runs_of(parent: Path) -> list[str]:
    return [name.run for name in names(read([parent]).records)]


def test_one_run_is_called_by_scheme_and_output(tmp_path: Path) -> None:
    make_run(tmp_path, position="rope", output="untied")
    assert runs_of(tmp_path) == ["rope, untied"]


def test_schemes_alone_suffice_where_they_differ(tmp_path: Path) -> None:
    make_run(tmp_path, position="rope")
    make_run(tmp_path, position="none")
    assert sorted(runs_of(tmp_path)) == ["none", "rope"]


def test_seeds_are_named_where_there_are_several(tmp_path: Path) -> None:
    for seed in (0, 3):
        make_run(tmp_path, seed=seed)
    assert runs_of(tmp_path) == ["learned, tied, seed 0", "learned, tied, seed 3"]


def test_a_value_that_differs_is_named_and_one_that_does_not_is_not(tmp_path: Path) -> None:
    make_run(tmp_path, job="a", settings={"lr": 0.1, "eps": 1})
    make_run(tmp_path, job="b", settings={"lr": 0.2, "eps": 1})
    assert runs_of(tmp_path) == ["learned, lr=0.1", "learned, lr=0.2"]


def test_a_key_that_occurs_twice_is_named_in_full(tmp_path: Path) -> None:
    make_run(tmp_path, job="a", settings={"name": "adam"})
    make_run(tmp_path, job="b", settings={"name": "sgd"})
    assert runs_of(tmp_path) == ["learned, optimizer.name=adam", "learned, optimizer.name=sgd"]


def test_a_path_is_named_by_its_last_part(tmp_path: Path) -> None:
    make_run(tmp_path, job="a", settings={"text": "/data/a.txt"})
    make_run(tmp_path, job="b", settings={"text": "/data/b.txt"})
    assert runs_of(tmp_path) == ["learned, text=a.txt", "learned, text=b.txt"]


def test_repetitions_are_told_apart_by_folder_then_number(tmp_path: Path) -> None:
    make_run(tmp_path / "x", job="first")
    make_run(tmp_path / "x", job="second")
    assert runs_of(tmp_path) == ["learned, tied (first)", "learned, tied (second)"]
    make_run(tmp_path / "y", job="second")
    assert runs_of(tmp_path)[1:] == [
        "learned, tied (second) no. 1",
        "learned, tied (second) no. 2",
    ]


def test_names_do_not_depend_on_what_does_not_decide_a_result() -> None:
    assert set(NOT_RECIPE) == {field.name for field in fields(Running)}
