"""What a report says of the backends that were timed beside its runs."""

import html
import re
import shutil
from pathlib import Path

import pytest

from andrea_exp.record.manifest import Platform
from andrea_exp.record.reader import survey
from andrea_exp.report.__main__ import main
from andrea_exp.report.anonymous import WITHHELD, anonymous
from andrea_exp.report.format import MISSING
from andrea_exp.report.markup import Nothing
from andrea_exp.report.page import page, read
from andrea_exp.report.sections.kernel_speed import SECTION
from andrea_exp.report.table import table_of
from benchmarks.synthetic_runs import make_run
from tests.record.benches import bench, block, row, untimed
from tests.report.test_sections import rows
from tests.report.test_verdicts import sweep

LATER = "2026-02-03T04:05:06.000+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs of a sweep with a record beside them."""
    outputs = tmp_path / "outputs" / "ablation"
    make_run(outputs, seed=0)
    make_run(outputs, seed=1)
    (outputs / "bench.json").write_text(bench().text())
    return outputs


def section(*folders: Path) -> str:
    return SECTION.html(table_of(read(folders)))


def test_a_timed_backend_has_a_line_for_each_pass(folder: Path) -> None:
    first, second = rows(section(folder), key="kernel_speed-1-1")
    assert first[:4] == ["cross_entropy", "swift", "swift (interpreted)", "forward"]
    assert first[4:8] == ["1.25", f"1.12{MISSING}1.50", "0.500", f"0.450{MISSING}0.550"]
    assert first[8:] == ["64.0%", "20.0%", "3.00", "0.250", "yes"]
    assert second[3:5] == ["both", "4,321"]
    assert second[6:8] == [MISSING, MISSING]


def test_the_caption_has_the_sizes_and_the_machine(folder: Path) -> None:
    text = html.unescape(section(folder))
    assert "32 sequences: B 32, T 64, D 128, N 4, V 50,257, float32, biased." in text
    assert "Some Processor, 2 threads; copy 10.0 GB/s, product 0.100 TFLOP/s." in text
    assert "<code>python -m andrea_exp.bench position=alibi</code>" in text
    assert "Python 3.11.7, torch 2.13.0+cpu, triton 3.7.1." in text


def test_what_was_not_timed_stands_with_its_reasons(folder: Path) -> None:
    assert rows(section(folder), key="kernel_speed-1-untimed") == [
        ["cross_entropy", "wrong", "differs", "output: off by 1, where 8e-07 is allowed"],
        ["cross_entropy", "absent", "cannot", "torch finds no CUDA GPU; it is not installed"],
    ]
    (folder / "bench.json").write_text(bench(blocks=[block(rows=[row()])]).text())
    assert "untimed" not in section(folder)


def test_without_a_record_there_is_no_section(folder: Path) -> None:
    (folder / "bench.json").unlink()
    (folder / "other.json").write_text(bench().text())
    assert isinstance(SECTION.html(table_of(read([folder]))), Nothing)
    assert '<h2 id="kernel_speed">Kernels</h2>' not in page(survey([folder]))


def test_several_records_stand_in_the_order_of_their_times(folder: Path) -> None:
    (folder / "bench-before.json").write_text(bench(recorded_at=LATER).text())
    text = section(folder)
    assert text.index("bench.json: ") < text.index("bench-before.json: ")
    assert len(set(re.findall(r'id="(kernel_speed-\d-\d)-caption"', text))) == 2


def test_records_are_found_where_runs_are_and_each_once(folder: Path) -> None:
    run = next(path for path in folder.iterdir() if path.is_dir())
    (run / "bench_run.json").write_text(bench(recorded_at=LATER).text())
    (run / "checkpoints").mkdir(exist_ok=True)
    (run / "checkpoints" / "bench.json").write_text("not looked at")
    found = survey([folder.parent, folder, run]).benches
    assert [file.name for file in found] == ["bench.json", "bench_run.json"]
    assert [file.name for file in survey([run]).benches] == ["bench_run.json"]


def test_the_same_records_give_the_same_bytes_anywhere(folder: Path, tmp_path: Path) -> None:
    before = page(survey([folder]))
    shutil.copytree(folder.parent, tmp_path / "elsewhere")
    assert page(survey([tmp_path / "elsewhere" / "ablation"])) == before


def test_a_damaged_record_is_told_and_hides_no_other(folder: Path) -> None:
    (folder / "bench-old.json").write_text(bench().text().replace('"schema": 1', '"schema": 0'))
    text = section(folder)
    assert "bench-old.json cannot be read: bench-old.json has schema 0" in text
    assert str(folder) not in text
    assert "kernel_speed-1-1" in text


def test_an_anonymous_report_tells_neither_places_nor_people(folder: Path) -> None:
    user = "planted_user"
    failed = untimed(outcome="failed", reasons=[f"OSError: /home/{user}/x.cu"])
    absent = untimed(backend="absent", outcome="cannot", reasons=[f"no g++ in /opt/{user}"])
    planted = bench(
        overrides=[f"data.path=/home/{user}/x", f"name={user}", "position=alibi"],
        platform=Platform(system=f"Linux {user}", machine="x86_64", python="3.11.7"),
        blocks=[block(label=f"name={user} model.d_model=128", rows=[row(), failed, absent])],
    )
    (folder / f"bench_{user}.json").write_text(planted.text())
    (folder / f"bench_{user}_old.json").write_text("{}")
    found = anonymous(read([folder]))
    text = SECTION.html(table_of(found))
    assert user in section(folder)
    assert user not in text
    assert all(user not in file.bench.text() for file in found.benches if file.bench)
    assert f"no g++ in {WITHHELD}" in html.unescape(text)
    assert "model.d_model=128: B 32" in text
    assert "Some Processor" in text


def test_what_is_kept_of_an_experiment_has_its_records(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "runs")
    (folder / "bench.json").write_text(bench().text())
    kept = tmp_path / "kept"
    assert main([str(folder), "--keep", str(kept)]) == 0
    assert (kept / "bench.json").read_text() == bench().text()
    assert '<h2 id="kernel_speed">Kernels</h2>' in (kept / "report.html").read_text()


def test_two_records_of_one_name_are_both_kept(tmp_path: Path) -> None:
    folder = sweep(tmp_path / "runs")
    run = next(path for path in sorted(folder.iterdir()) if path.is_dir())
    (folder / "bench.json").write_text(bench().text())
    (run / "bench.json").write_text(bench(recorded_at=LATER).text())
    kept = tmp_path / "kept"
    assert main([str(folder), "--keep", str(kept)]) == 0
    assert (kept / "bench-2.json").read_text() == bench(recorded_at=LATER).text()
