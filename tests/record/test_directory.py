import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import andrea_exp
from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.manifest import Manifest, Status

ROOT = Path(andrea_exp.__file__).parents[1]
PENDING = Manifest.pending(seed=0, argv=["andrea-exp"], overrides=[], choices={"position": "rope"})
FILES = {"config.yaml": "schema: 1\n", "manifest.json": PENDING.text()}
ROUNDS, PROCESSES = 100, 4
RACE = """
import sys, time
from pathlib import Path
from andrea_exp.record.directory import RunDirectory
parent, start, rounds = Path(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
for number in range(rounds):
    while time.time() < start + 0.03 * number:
        pass
    files = {"config.yaml": "c" * 5000, "manifest.json": "{}"}
    print(RunDirectory.create(parent, f"r{number}", files=files, unique=True).path.name)
"""


def create(parent: Path, job: str = "job", **options: bool) -> RunDirectory:
    return RunDirectory.create(parent, job, files=FILES, **options)


def test_a_new_directory_has_its_files_and_nothing_else_is_left(tmp_path: Path) -> None:
    run = create(tmp_path / "outputs" / "name")
    assert run.path == tmp_path / "outputs" / "name" / "job"
    assert {file.name: file.read_text() for file in run.path.iterdir()} == FILES
    assert [entry.name for entry in run.path.parent.iterdir()] == ["job"]


def test_what_a_killed_process_had_half_made_is_removed_and_nothing_else(tmp_path: Path) -> None:
    create(tmp_path, "run")
    ages_s = {".new-killed": 4000, ".new-at-work": 60, ".slurm": 4000, "run": 4000, "mine": 4000}
    for name, age_s in ages_s.items():
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "config.yaml").touch()
        then = time.time() - age_s
        os.utime(tmp_path / name, (then, then))
    create(tmp_path)
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left == {*ages_s, "job"} - {".new-killed"}


def test_it_has_the_permissions_that_the_user_gives_new_folders(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    assert create(tmp_path).path.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("taken", ["run", "empty", "file", "dangling"])
def test_a_taken_name_is_refused_and_left_as_it_is(tmp_path: Path, taken: str) -> None:
    place = tmp_path / "job"
    make = {
        "run": lambda: create(tmp_path),
        "empty": place.mkdir,
        "file": lambda: place.write_text("mine"),
        "dangling": lambda: place.symlink_to("nowhere"),
    }
    make[taken]()
    before = place.lstat()
    with pytest.raises(FileExistsError, match="job"):
        create(tmp_path)
    assert place.lstat() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["job"]


def test_saboteur_a_bare_rename_replaces_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    (tmp_path / "draft").mkdir()
    before = (tmp_path / "job").stat().st_ino
    (tmp_path / "draft").rename(tmp_path / "job")
    assert (tmp_path / "job").stat().st_ino != before


def test_a_unique_name_counts_on(tmp_path: Path) -> None:
    names = [create(tmp_path, unique=True).path.name for _ in range(3)]
    assert names == ["job", "job-2", "job-3"]


def test_processes_that_ask_for_one_name_at_once_get_different_directories(tmp_path: Path) -> None:
    start = str(time.time() + 0.8)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(tmp_path), start, str(ROUNDS)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(PROCESSES)
    ]
    names = [name for process in processes for name in process.communicate()[0].split()]
    expected = {
        f"r{number}" + ("" if copy == 1 else f"-{copy}")
        for number in range(ROUNDS)
        for copy in range(1, PROCESSES + 1)
    }
    assert len(names) == len(expected)
    assert set(names) == expected == {entry.name for entry in tmp_path.iterdir()}
    assert all(len(list(run.iterdir())) == 2 for run in tmp_path.iterdir())


@pytest.mark.parametrize("below", ["", "name", "name/deeper"])
def test_a_file_in_the_place_of_outputs_is_refused_by_name(tmp_path: Path, below: str) -> None:
    outputs = tmp_path / "outputs"
    outputs.write_text("mine")
    with pytest.raises(Refusal, match=rf"cannot write to {outputs}.*{outputs} is not a folder"):
        create(outputs / below)
    assert outputs.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_refused_by_name(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(Refusal, match=f"{tmp_path}.*Permission denied"):
        create(tmp_path)


def test_a_name_that_is_too_long_for_the_disk_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="too long"):
        create(tmp_path, "x" * 300)
    assert list(tmp_path.iterdir()) == []


def test_a_content_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        RunDirectory.create(tmp_path, "job", files={**FILES, "git.patch": "\udc80"})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("job", ["", ".", "..", ".hidden", "a/b", "../up", "/root"])
def test_a_job_is_one_visible_name(tmp_path: Path, job: str) -> None:
    with pytest.raises(ValueError, match="one visible name"):
        create(tmp_path, job)


def test_a_directory_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    run = create(tmp_path)
    assert RunDirectory.open(run.path) == run
    run.manifest_file.unlink()
    with pytest.raises(Refusal, match=r"not a run directory.*lacks"):
        RunDirectory.open(run.path)
    with pytest.raises(Refusal, match="is not a folder"):
        RunDirectory.open(run.config_file)


def test_a_running_run_is_interrupted_once_nobody_holds_it(tmp_path: Path) -> None:
    run = create(tmp_path)
    assert run.shown_status() is Status.pending
    with run.lock():
        run.write_manifest(replace(run.manifest(), status=Status.running))
        assert run.is_locked()
        assert run.shown_status() is Status.running
    assert run.shown_status() is Status.interrupted
    assert run.manifest().status is Status.running


def test_the_manifest_is_replaced_in_one_step(tmp_path: Path) -> None:
    run = create(tmp_path)
    old = run.manifest_file.open()
    run.write_manifest(replace(PENDING, status=Status.nan, seed=7))
    assert old.read() == FILES["manifest.json"]
    old.close()
    assert run.manifest() == replace(PENDING, status=Status.nan, seed=7)
    assert sorted(file.name for file in run.path.iterdir()) == sorted(FILES)


def test_what_a_killed_holder_had_half_written_is_gone_for_the_next(tmp_path: Path) -> None:
    run = create(tmp_path)
    (run.path / ".manifest.json.4711.new").write_text("{")
    (run.path / ".results.json.4711.new").write_text("{")
    with run.lock():
        pass
    assert sorted(file.name for file in run.path.iterdir()) == [".lock", *sorted(FILES)]
