"""What is kept of an experiment."""

import csv
import io
from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.manifest import Status
from andrea_exp.record.reader import survey
from andrea_exp.report.__main__ import main
from andrea_exp.report.format import MISSING
from andrea_exp.report.keep import keep, runs
from andrea_exp.report.page import page
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.report.test_verdicts import sweep


def table_of_runs(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(runs(table_of(survey([folder]))))))


def test_page_runs_and_verdicts_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = tmp_path / "kept"
    assert main([str(sweep(tmp_path / "runs")), "--keep", str(folder)]) == 0
    assert capsys.readouterr().out.strip() == str(folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("report.html", "runs.csv", "verdicts.md")
    ]
    assert (folder / "report.html").read_text() == page(survey([tmp_path / "runs"]))
    lines = (folder / "verdicts.md").read_text().splitlines()
    assert lines[0] == "| claim | verdict | difference | margin | pairs |"
    assert [line.split(" | ")[1] for line in lines[2:]] == ["confirmed", "refuted", "undecided"]
    assert lines[2].startswith("| ALiBi rises less than the sinusoid. | confirmed | +2.")
    assert lines[4].endswith(f"| undecided | {MISSING} | 0.1 | 0 pairs |")


def test_a_line_of_the_table_has_the_numbers_of_its_run(tmp_path: Path):
    make_run(tmp_path, position="learned", seed=3)
    make_run(tmp_path, position="rope", seed=4)
    make_run(tmp_path, position="none", seed=5, status=Status.failed)
    rows = {row["seed"]: row for row in table_of_runs(tmp_path)}
    record = next(each for each in survey([tmp_path]).records if each.config["seed"] == 3)
    assert record.results is not None
    final = record.results["final"]["val_loss_nats"]
    assert float(rows["3"]["final.val_loss_nats"]) == pytest.approx(final, rel=1e-5)
    clamped = next(
        row["rise_nats"]
        for row in record.results["lengths"]
        if (row["factor"], row["protocol"], row["beyond"]) == (2, "block", "clamp")
    )
    assert float(rows["3"]["rise_nats at 2T block clamp"]) == pytest.approx(clamped, rel=1e-5)
    assert rows["4"]["rise_nats at 2T block clamp"] == ""
    assert float(rows["3"]["smoothness.trained.d2_over_d1"]) == 1.67
    assert (rows["5"]["status"], rows["5"]["final.val_loss_nats"]) == ("failed", "")


def test_runs_without_claims_have_no_verdicts_to_keep(tmp_path: Path):
    found = survey([make_run(tmp_path / "runs")])
    with pytest.raises(Refusal, match="belong to no experiment with claims"):
        keep(found, folder=tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path):
    found = survey([sweep(tmp_path / "runs")])
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="--keep FOLDER"):
        keep(found, folder=tmp_path / "file" / "kept")


@pytest.mark.parametrize("other", ["--output", "--picture"])
def test_keep_is_not_said_beside_another_file_to_write(
    other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    words = [str(tmp_path), "--keep", str(tmp_path / "kept"), other, str(tmp_path / "file")]
    with pytest.raises(SystemExit, match="2"):
        main(words)
    assert f"argument {other}: not allowed with argument --keep" in capsys.readouterr().err


def test_a_folder_to_keep_in_has_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        main([str(tmp_path), "--keep", ""])
    assert "argument --keep: it is empty; name a folder" in capsys.readouterr().err
