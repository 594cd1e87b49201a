import platform
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from andrea_exp.record import environment
from andrea_exp.record.environment import checkout, packages, this_platform


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(directory), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    git(tmp_path, "init", "-q")
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    return tmp_path


def test_a_clean_checkout_has_its_commit_and_no_patch(repository: Path) -> None:
    found = checkout(repository / "package")
    assert found == (git(repository, "rev-parse", "HEAD").strip(), False, None)


def test_a_changed_file_makes_a_patch_that_applies(repository: Path) -> None:
    (repository / "package" / "a.py").write_text("a = 22\n")
    found = checkout(repository / "package")
    assert found is not None
    assert found.dirty
    assert found.patch is not None
    git(repository, "checkout", "-q", "--", ".")
    (repository / "saved.patch").write_text(found.patch)
    git(repository, "apply", "saved.patch")
    assert (repository / "package" / "a.py").read_text() == "a = 22\n"


def test_a_new_file_makes_it_dirty_without_a_patch(repository: Path) -> None:
    (repository / "package" / "b.py").touch()
    found = checkout(repository / "package")
    assert found is not None
    assert (found.dirty, found.patch) == (True, None)


def test_a_long_patch_is_cut_and_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "LONGEST_PATCH", 40)
    (repository / "package" / "a.py").write_text("b\n" * 100)
    found = checkout(repository / "package")
    assert found is not None
    assert found.patch is not None
    assert "[cut here: " in found.patch
    assert len(found.patch) < 100


def test_a_hook_of_another_repository_does_not_mislead(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert checkout(repository / "package") is not None


def test_an_untracked_folder_is_in_no_checkout(repository: Path) -> None:
    (repository / "installed").mkdir()
    (repository / "installed" / "a.py").touch()
    assert checkout(repository / "installed") is None


def test_outside_a_repository_before_a_commit_and_without_git_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkout(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert checkout(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout(tmp_path) is None


def test_core_dependencies_have_the_installed_versions() -> None:
    found = packages()
    for name in ("torch", "hydra-core", "wandb", "numpy"):
        assert found[name] == metadata.version(name)
    assert "pytest" not in found
    assert list(found) == sorted(found)


def test_the_platform_names_this_python() -> None:
    assert this_platform().python == platform.python_version()
