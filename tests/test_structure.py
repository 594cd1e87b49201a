"""The house rules that a machine can check."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import andrea_exp
from andrea_exp.config.catalogue import groups

PACKAGE = Path(andrea_exp.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
CLASS_GROUPS = ("embedding", "position", "output")


def _identifier(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in MODULES:
        yield path, ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", MODULES, ids=_identifier)
def test_no_module_is_a_drawer(path: Path) -> None:
    assert path.stem not in {"utils", "util", "common", "helpers", "misc"}


def test_no_function_takes_keyword_arguments_by_the_dozen() -> None:
    for path, tree in _trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.args.kwarg:
                pytest.fail(f"{_identifier(path)}: {node.name}(**{node.args.kwarg.arg})")


def test_no_option_is_compared_or_looked_up_by_name_outside_its_module() -> None:
    names = {
        option
        for group in CLASS_GROUPS
        for option in groups()[group]
        if (PACKAGE / group / f"{option}.py").exists()
    }
    assert {"learned", "rope", "tied"} <= names
    for path, tree in _trees():
        if path.stem in names:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Compare):
                compared = {
                    child.value
                    for child in ast.walk(node)
                    if isinstance(child, ast.Constant) and isinstance(child.value, str)
                }
                assert not compared & names, f"{_identifier(path)}:{node.lineno}"
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                assert not keys & names, f"{_identifier(path)}:{node.lineno}"


def test_every_final_option_class_has_its_test_file() -> None:
    tests = PACKAGE.parent / "tests"
    if not tests.is_dir():
        pytest.skip("the tests stand apart from the package here")
    for group in ("position", "embedding", "output", "data", "tokenizer", "optimizer", "logger"):
        text = "".join(path.read_text(encoding="utf-8") for path in (tests / group).glob("*.py"))
        for module in (PACKAGE / group).glob("*.py"):
            if module.stem not in {"__init__", "base"}:
                assert f"andrea_exp.{group}" in text
                assert module.stem in text, f"no test names {group}/{module.name}"


def _run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


@pytest.mark.parametrize("words", [["--help"], ["optimizr.lr=1"], ["--cfg", "job"]])
def test_help_views_and_typos_never_import_torch(words: list[str]) -> None:
    code = f"""
import sys
from andrea_exp.__main__ import main
try:
    main({words!r})
except SystemExit:
    pass
print("torch" in sys.modules)
"""
    assert _run(code).splitlines()[-1] == "False"


def test_importing_the_package_and_every_module_has_no_effect() -> None:
    code = """
import importlib, os, pkgutil, random, sys, threading
before = set(os.listdir("."))
import torch
state, threads = torch.get_rng_state(), torch.get_num_threads()
import andrea_exp
for module in pkgutil.walk_packages(andrea_exp.__path__, "andrea_exp."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # of the extra `gpu`, which need not be installed
        assert error.name.partition(".")[0] in {"triton", "cuda", "liger_kernel"}, error
assert torch.equal(state, torch.get_rng_state())
assert torch.get_num_threads() == threads
assert set(os.listdir(".")) == before
print("quiet")
"""
    assert _run(code).splitlines()[-1] == "quiet"
