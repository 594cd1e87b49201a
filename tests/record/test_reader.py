from dataclasses import replace
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.directory import RunDirectory
from andrea_exp.record.frozen import FrozenConfig
from andrea_exp.record.manifest import Manifest, Status
from andrea_exp.record.metrics import MetricsFile
from andrea_exp.record.reader import discover, load, newest_unfinished
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


def test_a_damaged_file_is_refused_by_name(tmp_path: Path) -> None:
    run = make(tmp_path, "job")
    run.metrics_file.write_text("?\n")
    with pytest.raises(Refusal, match=r"metrics.jsonl:1"):
        load(run)


def test_the_newest_unfinished_run_of_the_recipe_is_found(tmp_path: Path) -> None:
    make(tmp_path, "2026-01-01_10-00-00", status=Status.preempted)
    wanted = make(tmp_path, "2026-01-01_10-00-00-10", status=Status.interrupted)
    make(tmp_path, "2026-01-01_10-00-00-9", status=Status.preempted)
    make(tmp_path, "2026-01-02", recipe="r2")
    make(tmp_path, "2026-01-03", status=Status.completed)
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


@pytest.mark.parametrize("status", [Status.pending, Status.running, Status.preempted])
def test_a_run_that_is_in_use_is_not_taken_away(tmp_path: Path, status: Status) -> None:
    run = make(tmp_path, "job", status=status)
    with run.lock():
        assert newest_unfinished(tmp_path, "r1") is None
    assert newest_unfinished(tmp_path, "r1") == run
