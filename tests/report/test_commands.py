import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from andrea_exp.record.manifest import Status
from andrea_exp.report.__main__ import main
from andrea_exp.report.page import read
from andrea_exp.report.picture import spaced
from andrea_exp.report.terminal import renderable, summary
from benchmarks.synthetic_runs import make_run

Said = pytest.CaptureFixture[str]


def printed(run: Path, *, width: int = 80) -> list[str]:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(renderable(read([run]).records[0]))
    return captured.get().splitlines()


def test_one_folder_gets_its_report_inside(tmp_path: Path, capsys: Said) -> None:
    run = make_run(tmp_path)
    assert main([str(run)]) == 0
    assert capsys.readouterr().out.strip() == str(run / "report.html")
    assert (run / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_several_folders_get_it_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = make_run(tmp_path, seed=0), make_run(tmp_path, seed=1)
    monkeypatch.chdir(tmp_path)
    assert main([str(first), str(second)]) == 0
    assert (tmp_path / "report.html").is_file()


def test_a_folder_without_runs_is_refused_in_one_line(tmp_path: Path, capsys: Said) -> None:
    assert main([str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_broken_file_is_refused_by_its_name(tmp_path: Path, capsys: Said) -> None:
    run = make_run(tmp_path)
    (run / "results.json").write_text("{")
    assert main([str(run)]) == 2
    assert "results.json" in capsys.readouterr().err


def test_a_broken_run_beside_whole_ones_is_listed_with_its_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_run(tmp_path, job="whole")
    broken = make_run(tmp_path, job="broken<b>", seed=1)
    (broken / "results.json").write_text("{")
    assert main([str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text()
    assert "1 run could not be read." in text
    assert "1 of 2 runs are missing from the numbers" in text
    assert "results.json is not JSON" in text
    assert "<code>broken&lt;b&gt;</code>" in text
    assert str(tmp_path) not in text
    (warning,) = caplog.messages
    assert warning.startswith(f"{broken} cannot be read: results.json is not JSON")


def test_names_that_people_chose_are_text_and_never_markup(tmp_path: Path) -> None:
    tag = "<img src=x onerror=alert(1)>"
    for seed in (0, 1, 1):
        job = f"{tag} {seed} {len(list(tmp_path.iterdir()))}"
        make_run(tmp_path, name=tag, job=job, seed=seed, settings={"kind": tag})
    make_run(tmp_path, name=tag, job=f"{tag} failed", seed=2, status=Status.failed)
    assert main([str(tmp_path)]) == 0
    text = (tmp_path / "report.html").read_text()
    assert "&lt;img src=x" in text
    assert "<img" not in text


def test_a_report_without_claims_does_without_torch(tmp_path: Path) -> None:
    code = (
        "import sys; from andrea_exp.report.__main__ import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 'torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(make_run(tmp_path))], check=True)


def test_the_picture_is_written_in_place_of_the_report(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    for name in ("a.svg", "b.svg"):
        assert main([str(run), "--picture", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert "learned, tied · past T: clamp" in (tmp_path / "a.svg").read_text()
    assert not (run / "report.html").exists()


def test_a_picture_of_nothing_is_refused(tmp_path: Path, capsys: Said) -> None:
    run = make_run(tmp_path, status=Status.pending)
    assert main([str(run), "--picture", str(tmp_path / "a.svg")]) == 2
    assert "let one complete first" in capsys.readouterr().err


def test_an_anonymous_report_names_nobody(tmp_path: Path) -> None:
    secrets = {"text": "/data/of/mine.txt"}
    words = (
        "logger.project=my_project",
        "++logger.entity=my_team",
        "data.path=my_diary.txt",
        "data.path=[my_letters.txt]",
        "hydra.launcher.account=my_account",
    )
    make_run(tmp_path, name="my_own_name", job="my_job", settings=secrets, words=words)
    for seed, path in enumerate(["my_novel.txt", "my_poem.txt"], start=2):
        make_run(tmp_path, name="my_own_name", seed=seed, settings={"path": [path]})
    make_run(tmp_path, name="my_own_name", job="failed_job", seed=1, status=Status.failed)
    broken = make_run(tmp_path, job="broken_job", seed=4)
    (broken / "metrics.jsonl").write_text('{"my_column": []}\n')
    output = tmp_path / "r.html"
    assert main([str(tmp_path), "--output", str(output)]) == 0
    traces = (
        *("my_own_name", "my_job", "failed_job", "broken_job", "0123456789", "divide the width"),
        *("my_project", "my_team", "my_diary", "my_letters", "my_account", "my_novel", "my_poem"),
    )
    assert [trace for trace in traces if trace not in output.read_text()] == []
    assert main([str(tmp_path), "--output", str(output), "--anonymous"]) == 0
    assert not [trace for trace in (*traces, "mine.txt") if trace in output.read_text()]
    assert "my_column" not in output.read_text()
    assert "ValueError" in output.read_text()


def test_the_terminal_shows_the_report_in_small(single: Path) -> None:
    lines = printed(single)
    assert len(lines) <= 40
    assert max(len(line.rstrip()) for line in lines) <= 80 + len(str(single))
    text = "\n".join(lines)
    assert "refused" in text
    assert "clamp" in text
    assert "control: random walk" in text
    assert text.replace("\n", "").count(single.name) == 2


def test_the_summary_is_printed(single: Path, capsys: Said) -> None:
    summary(read([single]).records[0])
    assert "learned, tied, seed 0" in capsys.readouterr().out


def test_the_terminal_says_when_there_are_no_results(tmp_path: Path) -> None:
    assert "failed, no results" in printed(make_run(tmp_path, status=Status.failed))[0]


def test_a_scheme_without_a_table_says_so(tmp_path: Path) -> None:
    assert any("No position table" in line for line in printed(make_run(tmp_path, position="rope")))


def test_labels_are_moved_apart_but_not_out_of_order() -> None:
    assert spaced([0.5, 0.52, 0.1], apart=0.1) == pytest.approx([0.5, 0.6, 0.1])
    assert spaced([0.99, 1.0], apart=0.1) == pytest.approx([0.9, 1.0])
