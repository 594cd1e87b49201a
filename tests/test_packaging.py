"""What an installation holds: conf/ travels in the wheel, an editable install copies nothing."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path, PurePath

import pytest

import andrea_exp

ROOT = Path(andrea_exp.__file__).parent.parent
PACKAGE = ROOT / "andrea_exp"
CODE = {".py", ".jinja", ".css", ".typed", ".cu", ".cuh"}


def built(folder: Path, *, target: str) -> zipfile.ZipFile:
    """The only archive that hatchling makes in this folder; it needs no network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (archive,) = folder.glob("*.whl")
    return zipfile.ZipFile(archive)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return built(tmp_path_factory.mktemp("wheel"), target="wheel")


def test_the_wheel_holds_every_option_and_every_part_of_the_package(wheel: zipfile.ZipFile) -> None:
    options = {f"andrea_exp/{path.relative_to(ROOT)}" for path in (ROOT / "conf").rglob("*.yaml")}
    parts = [path for path in PACKAGE.rglob("*") if path.suffix in CODE]
    expected = options | {path.relative_to(ROOT).as_posix() for path in parts}
    assert {"andrea_exp/conf/config.yaml", "andrea_exp/py.typed"} <= expected
    assert {".jinja", ".cuh"} <= {PurePath(name).suffix for name in expected}
    held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_installed_program_reads_the_conf_that_came_with_it(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    wheel.extractall(installed)
    elsewhere.mkdir()
    option = installed / "andrea_exp" / "conf" / "position" / "rope.yaml"
    text = option.read_text(encoding="utf-8")
    option.write_text(re.sub(r"\A# .*", "# The copy in the wheel.", text), encoding="utf-8")
    for words, found in (
        (["--help"], "The copy in the wheel."),
        (["--cfg", "job", "position=rope"], "name: rope"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "andrea_exp", *words],
            cwd=elsewhere,
            env=os.environ | {"PYTHONPATH": str(installed)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert found in done.stdout
    assert not list(elsewhere.iterdir())


def test_an_editable_install_holds_no_copy_that_could_go_stale(tmp_path: Path) -> None:
    archive = built(tmp_path, target="wheel:editable")
    (link,) = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert link.endswith(".pth")
    assert archive.read(link).decode().split() == [str(ROOT)]
