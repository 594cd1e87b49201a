import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.metrics import MetricsFile
from andrea_exp.record.reader import discover, load, newest_unfinished, survey
from andrea_exp.record.results import write_results

PENDING = Manifest.pending(seed=5, argv=[], overrides=[], choices={"output": "tied"})


def make(
    parent: Path, job: str, *, recipe: str = "r1", status: Status = Status.pending
) -> RunDirectory:
    frozen = FrozenConfig(recipe_hash=recipe, choices={"output": "tied"}, config={"seed": 5})
    manifest = replace(PENDING, status=status)
    files = {"config.yaml": frozen.text(), "manifest.json": manifest.text()}
    return RunDirectory.create(parent, job, files=files)


def test_a_root_gives_its_runs_once_and_in_natural_order(tmp_path: Path) -> None:
    runs = [make(tmp_path / "a", job) for job in ("j-10", "j-2", "j-1")]
    single = make(tmp_path / "b", "single")
    make(single.path / "checkpoints", "inside")
    make(tmp_path / ".hidden", "draft")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "notes.txt").touch()
    found = discover([tmp_path, runs[0].path, tmp_path / "a"])
    assert found == [runs[2], runs[1], runs[0], single]


def test_a_run_directory_gives_itself_and_paths_keep_their_order(tmp_path: Path) -> None:
    first, second = make(tmp_path, "1"), make(tmp_path, "2")
    assert discover([second.path, first.path]) == [second, first]


def test_a_path_without_a_run_is_refused_beside_one_with(tmp_path: Path) -> None:
    run = make(tmp_path / "a", "job")
    (tmp_path / "empty").mkdir()
    with pytest.raises(Refusal, match="empty holds no run"):
        discover([run.path, tmp_path / "empty"])
    with pytest.raises(Refusal, match="gone does not exist"):
        discover([tmp_path / "gone"])


def test_a_record_has_everything_that_was_written(tmp_path: Path) -> None:
    run = make(tmp_path, "job", status=Status.completed)
    with MetricsFile(run.metrics_file) as file:
        file.append({"step": 1, "loss_nats": 2.0})
    write_results(run.results_file, {"final": {"val_loss_nats": 1.5}})
    record = load(run)
    assert (record.name, record.recipe_hash, record.status) == ("job", "r1", Status.completed)
    assert record.choices == {"output": "tied"}
    assert record.config == {"seed": 5}
    assert record.manifest.seed == 5
    assert record.metrics == [{"step": 1, "loss_nats": 2.0}]
    assert record.results == {"schema": 1, "final": {"val_loss_nats": 1.5}}


def test_a_run_that_was_killed_is_shown_interrupted_without_results(tmp_path: Path) -> None:
    record = load(make(tmp_path, "job", status=Status.running))
    assert record.status is Status.interrupted
    assert record.manifest.status is Status.running
    assert (record.metrics, record.results) == ([], None)


def overwrite(name: str, content: bytes) -> Callable[[RunDirectory], object]:
    return lambda run: (run.path / name).write_bytes(content)


def other_schema(run: RunDirectory) -> None:
    text = run.manifest_file.read_text(encoding="utf-8")
    run.manifest_file.write_text(text.replace('"schema": 1', '"schema": 2'), encoding="utf-8")


def without_manifest(run: RunDirectory) -> None:
    with run.lock():  # it was executed
        run.manifest_file.unlink()


DAMAGES: dict[str, tuple[Callable[[RunDirectory], object], str]] = {
    "metrics": (overwrite("metrics.jsonl", b"?\n"), "metrics.jsonl:1 is not a line"),
    "metrics, not UTF-8": (overwrite("metrics.jsonl", b'{"\xff": 1}\n'), "metrics.jsonl:1"),
    "metrics, a folder": (lambda run: run.metrics_file.mkdir(), "metrics.jsonl cannot be read"),
    "manifest, cut": (overwrite("manifest.json", b'{"schema": 1, '), "manifest.json is not JSON"),
    "manifest, empty": (overwrite("manifest.json", b""), "manifest.json is not JSON"),
    "manifest, not UTF-8": (overwrite("manifest.json", b"\xff"), "byte 0 is not UTF-8"),
    "manifest, other schema": (other_schema, "manifest.json has schema 2"),
    "manifest, gone": (without_manifest, "manifest.json cannot be read: No such file"),
    "config, not YAML": (overwrite("config.yaml", b"a: ["), "config.yaml is not YAML"),
    "config, not UTF-8": (overwrite("config.yaml", b"a: \xff"), "byte 3 is not UTF-8"),
    "config, zeros": (overwrite("config.yaml", bytes(100)), "config.yaml is not YAML"),
    "config, other schema": (overwrite("config.yaml", b"schema: 7"), "config.yaml has schema 7"),
    "config, a list": (
        overwrite("config.yaml", b"{schema: 1, recipe_hash: a, choices: [], config: {}}"),
        "choices do not have their layout",
    ),
    "results": (overwrite("results.json", b"{"), "results.json is not JSON"),
    "results, not UTF-8": (overwrite("results.json", b"\xff"), "results.json is not JSON"),
    "results, other schema": (overwrite("results.json", b'{"schema": 3}'), "has schema 3"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_named_with_its_reason_and_stands_in_no_others_way(
    tmp_path: Path, damage: str
) -> None:
    whole, damaged = make(tmp_path, "whole"), make(tmp_path, "damaged", recipe="r2")
    spoil, reason = DAMAGES[damage]
    spoil(damaged)
    found = survey([tmp_path])
    assert [record.name for record in found.records] == ["whole"]
    (unreadable,) = found.unreadable
    assert (unreadable.name, unreadable.path) == ("damaged", damaged.path)
    assert reason in unreadable.reason
    assert str(tmp_path) not in unreadable.reason
    with pytest.raises(Refusal) as caught:
        survey([damaged.path])
    assert reason in str(caught.value)
    assert str(damaged.path) in str(caught.value)
    assert newest_unfinished(tmp_path, "r1") == whole


def test_a_name_that_is_not_utf_8_can_be_written(tmp_path: Path) -> None:
    run = make(tmp_path, "job")
    os.rename(os.fsencode(run.path), os.fsencode(tmp_path) + b"/j\xffb")  # noqa: PTH104
    (record,) = survey([tmp_path]).records
    assert record.name == "j\N{REPLACEMENT CHARACTER}b"


def test_the_newest_unfinished_run_of_the_recipe_is_found(tmp_path: Path) -> None:
    make(tmp_path, "2026-01-01_10-00-00", status=Status.preempted)
    wanted = make(tmp_path, "2026-01-01_10-00-00-10", status=Status.interrupted)
    make(tmp_path, "2026-01-01_10-00-00-9", status=Status.preempted)
    make(tmp_path, "2026-01-02", recipe="r2")
    write_results(make(tmp_path, "2026-01-03", status=Status.completed).results_file, {})
    make(tmp_path, "2026-01-04", status=Status.nan)
    assert newest_unfinished(tmp_path, "r1") == wanted
    assert newest_unfinished(tmp_path, "r3") is None
    assert newest_unfinished(tmp_path / "gone", "r1") is None


def test_a_failed_run_goes_on_only_from_a_checkpoint(tmp_path: Path) -> None:
    run = make(tmp_path, "job", status=Status.failed)
    assert newest_unfinished(tmp_path, "r1") is None
    run.checkpoints.mkdir()
    (run.checkpoints / "last.ckpt").touch()
    assert newest_unfinished(tmp_path, "r1") == run


def test_a_completed_run_whose_results_were_removed_is_unfinished(tmp_path: Path) -> None:
    run = make(tmp_path, "job", status=Status.completed)
    assert not run.is_finished()
    assert newest_unfinished(tmp_path, "r1") == run
    write_results(run.results_file, {})
    assert run.is_finished()
    assert newest_unfinished(tmp_path, "r1") is None


@pytest.mark.parametrize("status", [Status.pending, Status.running, Status.preempted])
def test_a_run_that_is_in_use_is_not_taken_away(tmp_path: Path, status: Status) -> None:
    run = make(tmp_path, "job", status=status)
    with run.lock():
        assert newest_unfinished(tmp_path, "r1") is None
    assert newest_unfinished(tmp_path, "r1") == run
