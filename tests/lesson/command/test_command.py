"""`python -m andrea_exp.lesson` as it is typed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from andrea_exp.lesson import __main__ as command
from andrea_exp.lesson import claims as all_claims
from andrea_exp.lesson import sizes
from andrea_exp.lesson.claim import Question, equal
from andrea_exp.record.manifest import Status
from benchmarks.synthetic_runs import make_run

Said = pytest.CaptureFixture[str]


def one_claim(size: int) -> Question:
    def live() -> Iterator[object]:
        yield equal("size", size, 4)

    return Question(number=1, question="How large?", says="4", live=live)  # pyright: ignore[reportArgumentType]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two groups of claims instead of all."""
    monkeypatch.setattr(
        all_claims, "questions", lambda: [each for each in sizes.QUESTIONS if each.number == 5]
    )


@pytest.mark.usefixtures("quick")
def test_claims_are_printed_and_summed_up(capsys: Said) -> None:
    assert command.main([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("5. What do positions cost?  holds")
    assert said.splitlines()[-1] == "1 claims; holds: 1"


@pytest.mark.usefixtures("quick")
def test_json_and_a_page_say_the_same(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "lesson.html"
    assert command.main(["--json", "--output", str(file)]) == 0
    (claim,) = json.loads(capsys.readouterr().out)
    assert claim["verdict"] == "holds"
    page = file.read_text(encoding="utf-8")
    assert "97,912,320" in page
    assert 97_912_320 in [value["value"] for value in claim["values"]]


@pytest.mark.parametrize(("size", "status"), [(4, 0), (5, 1)])
def test_a_claim_that_fails_is_the_exit_status(
    size: int, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_claims, "questions", lambda: [one_claim(size)])
    assert command.main(["--json"]) == status


@pytest.mark.usefixtures("quick")
def test_a_run_directory_and_a_folder_of_runs_are_read(tmp_path: Path, capsys: Said) -> None:
    run = make_run(tmp_path / "outputs")
    for place in (run, tmp_path / "outputs"):
        file = tmp_path / "lesson.html"
        assert command.main([str(place), "--output", str(file)]) == 0
        assert "1 run read for what training decides" in file.read_text(encoding="utf-8")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere does not exist"),
        (["empty"], "empty holds no run of andrea_exp"),
        (["--output", "empty"], "cannot write empty: it is a folder; name a file in it"),
        (["--output", "no/x.html"], "cannot write no/x.html: no is not a folder"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_measured(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(all_claims, "questions", lambda: pytest.fail("measured"))
    assert command.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"andrea_exp: {message}")
    assert len(captured.err.splitlines()) == 1


def test_runs_without_results_are_no_source_of_claims(tmp_path: Path, capsys: Said) -> None:
    make_run(tmp_path, status=Status.failed)
    make_run(tmp_path, seed=1, with_results=False)
    assert command.main([str(tmp_path)]) == 2
    assert "holds no completed run with results" in capsys.readouterr().err


def test_help_answers_without_torch() -> None:
    code = (
        "import sys\n"
        "from andrea_exp.lesson.__main__ import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.startswith("usage: python -m andrea_exp.lesson")
    assert done.stdout.splitlines()[-1] == "False False"
