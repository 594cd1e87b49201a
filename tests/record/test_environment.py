import platform
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from andrea_exp.record import environment
from andrea_exp.record.environment import Checkout, checkout, packages, this_platform


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


def state(repository: Path) -> Checkout | None:
    return checkout(repository / "package", conf=repository / "conf")


def test_a_clean_checkout_has_its_commit_and_no_patch(repository: Path) -> None:
    found = state(repository)
    assert found == (git(repository, "rev-parse", "HEAD").strip(), False, None)


def test_a_changed_file_makes_a_patch_that_applies(repository: Path) -> None:
    (repository / "package" / "a.py").write_text("a = 22\n")
    found = state(repository)
    assert found is not None
    assert found.dirty
    assert found.patch is not None
    git(repository, "checkout", "-q", "--", ".")
    (repository / "saved.patch").write_text(found.patch)
    git(repository, "apply", "saved.patch")
    assert (repository / "package" / "a.py").read_text() == "a = 22\n"


def test_a_file_that_is_no_part_of_the_program_makes_it_dirty_without_a_patch(
    repository: Path,
) -> None:
    (repository / "package" / "notes.txt").touch()
    (repository / "other.py").write_text("a = 1\n")
    found = state(repository)
    assert found is not None
    assert (found.dirty, found.patch) == (True, None)


def test_new_files_of_the_program_are_in_the_patch_and_the_repository_is_left_alone(
    repository: Path,
) -> None:
    (repository / "conf").mkdir()
    new = {
        "package/scheme.py": "b = 2\n",
        "package/deep/er.py": "c = 3",
        "package/empty.py": "",
        "conf/scheme with a space.yaml": "name: scheme\n",
    }
    for name, text in new.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(text)
    (repository / "package" / "a.py").write_text("a = 22\n")
    git(repository, "add", "conf")
    before = {path: path.read_bytes() for path in files(repository / ".git")}
    found = state(repository)
    assert {path: path.read_bytes() for path in files(repository / ".git")} == before
    assert found is not None
    assert found.patch is not None
    git(repository, "reset", "-q", "--hard")
    git(repository, "clean", "-qfd")
    (repository / "saved.patch").write_text(found.patch)
    git(repository, "apply", "saved.patch")
    assert (repository / "package" / "a.py").read_text() == "a = 22\n"
    assert {name: (repository / name).read_text() for name in new} == new


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_results_that_git_ignores_do_not_make_it_dirty(repository: Path) -> None:
    (repository / ".gitignore").write_text("/outputs/*\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "two")
    (repository / "outputs" / "runs").mkdir(parents=True)
    (repository / "outputs" / "runs" / "config.yaml").write_text("a: 1\n")
    found = state(repository)
    assert found is not None
    assert (found.dirty, found.patch) == (False, None)


def test_a_new_file_that_is_too_long_is_named_in_its_place(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "LONGEST_PATCH", 400)
    (repository / "package" / "short.py").write_text("b = 2\n")
    (repository / "package" / "long.py").write_text("b = 2\n" * 100)
    found = state(repository)
    assert found is not None
    assert found.patch is not None
    assert "+b = 2" in found.patch
    assert found.patch.endswith("[left out, too long: package/long.py]\n")


def test_a_long_patch_is_cut_and_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "LONGEST_PATCH", 40)
    (repository / "package" / "a.py").write_text("b\n" * 100)
    found = state(repository)
    assert found is not None
    assert found.patch is not None
    assert "[cut here: " in found.patch
    assert len(found.patch) < 100


def test_a_hook_of_another_repository_does_not_mislead(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert state(repository) is not None


def test_an_untracked_folder_is_in_no_checkout(repository: Path) -> None:
    (repository / "installed").mkdir()
    (repository / "installed" / "a.py").touch()
    assert checkout(repository / "installed", conf=repository / "conf") is None


def test_outside_a_repository_before_a_commit_and_without_git_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checkout(tmp_path, conf=tmp_path / "conf") is None
    git(tmp_path, "init", "-q")
    assert checkout(tmp_path, conf=tmp_path / "conf") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checkout(tmp_path, conf=tmp_path / "conf") is None


def test_core_dependencies_have_the_installed_versions() -> None:
    found = packages()
    for name in ("torch", "hydra-core", "wandb", "numpy"):
        assert found[name] == metadata.version(name)
    assert "pytest" not in found
    assert list(found) == sorted(found)


@pytest.mark.parametrize("installed", [True, False])
def test_libraries_of_kernel_backends_are_named_and_other_extras_are_not(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    def requires(name: str) -> list[str]:
        if not installed:
            raise metadata.PackageNotFoundError(name)
        return [
            "torch>=2.11",
            "triton; (platform_system == 'Linux') and extra == 'gpu'",
            'liger-kernel; extra == "gpu"',
            "cuda-core[cu13]; extra == 'gpu'",
            "submitit; extra == 'cluster'",
        ]

    def version(name: str) -> str:
        return f"{name} 1"

    monkeypatch.setattr(metadata, "requires", requires)
    monkeypatch.setattr(metadata, "version", version)
    found = packages()
    assert found.keys() >= {"torch", "triton", "liger-kernel", "cuda-core"}
    assert "submitit" not in found


def test_the_platform_names_this_python() -> None:
    assert this_platform().python == platform.python_version()
