import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import matplotlib as mpl
import pytest
from typing_extensions import override

from andrea_exp.component import Refusal
from andrea_exp.record.manifest import Status
from andrea_exp.report.page import SECTIONS, build, page, read
from benchmarks.synthetic_runs import make_run

PAGE_SOURCES = re.compile(
    r"https?:|src=|url\((?!#)|@import|<script|<link(?! rel=\"icon\" href=\"data:)"
)


class Anatomy(HTMLParser):
    """Ids, references to ids, and the balance of tags in a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.open: list[str] = []
        self.mistakes: list[str] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)
        self._read(attrs)

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._read(attrs)

    @override
    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.mistakes.append(tag)

    def _read(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"aria-labelledby", "aria-describedby"}:
                self.references.append(value or "")
            elif name == "href" and (value or "").startswith("#"):
                self.references.append((value or "")[1:])
            self.references += re.findall(r"url\(#([^)]*)\)", value or "")


@pytest.fixture(scope="module")
def sweep_page(sweep: Path) -> str:
    return page(read([sweep]))


@pytest.fixture(scope="module")
def single_page(single: Path) -> str:
    return page(read([single]))


def test_two_builds_have_equal_bytes(single: Path, tmp_path: Path) -> None:
    first = build([single], output=tmp_path / "a.html").read_bytes()
    assert first == build([single], output=tmp_path / "b.html").read_bytes()


def test_another_number_changes_the_bytes(single: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(single, tmp_path / single.name))
    text = (copy / "results.json").read_text()
    (copy / "results.json").write_text(text.replace('"bigram_nats": 2.338', '"bigram_nats": 2.339'))
    assert page(read([copy])) != page(read([single]))


SURROUNDINGS = [
    {"LC_ALL": "C", "TZ": "Pacific/Auckland", "PYTHONHASHSEED": "7", "COLUMNS": "33"},
    {"LC_ALL": "de_DE.UTF-8", "TZ": "America/Lima", "PYTHONHASHSEED": "8", "HOME": "/nowhere"},
]
CHILD = """
import os, sys, time
from andrea_exp.report.__main__ import main
print(hash("a text"), time.localtime(0).tm_hour, os.getcwd(), os.environ["LC_ALL"])
sys.exit(main(sys.argv[1:]))
"""


def built_elsewhere(runs: Path, folder: Path, surroundings: dict[str, str]) -> tuple[bytes, str]:
    """The report of copied runs by a process of its own, and what it saw around it."""
    folder.mkdir()
    copy = shutil.copytree(runs, folder / "moved", copy_function=shutil.copy)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(copy), "--output", str(folder / "r.html")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **surroundings},
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return (folder / "r.html").read_bytes(), done.stdout.splitlines()[0]


@pytest.mark.slow
def test_bytes_do_not_depend_on_folder_locale_time_zone_or_order_of_hashes(
    sweep: Path, sweep_page: str, tmp_path: Path
) -> None:
    built = [
        built_elsewhere(sweep, tmp_path / str(index), surroundings)
        for index, surroundings in enumerate(SURROUNDINGS)
    ]
    assert {text for text, _ in built} == {sweep_page.encode()}
    seen = [words.split() for _, words in built]
    assert not [fact for fact, other in zip(*seen, strict=True) if fact == other]


def test_the_machines_own_figure_settings_are_not_read(single: Path, single_page: str) -> None:
    with mpl.rc_context({"axes.grid": True, "font.size": 31, "lines.linewidth": 9}):
        assert page(read([single])) == single_page
        assert mpl.rcParams["font.size"] == 31


def test_the_page_asks_for_nothing(sweep_page: str, single_page: str) -> None:
    for text in (sweep_page, single_page):
        assert not PAGE_SOURCES.findall(text)


def test_a_request_would_be_noticed() -> None:
    for piece in ('<img src="x.png">', "url(fonts/x.woff)", "https://example.org", "<script>"):
        assert PAGE_SOURCES.search(piece)


def test_tags_balance_ids_are_unique_and_references_lead_somewhere(
    sweep_page: str, single_page: str
) -> None:
    for text in (sweep_page, single_page):
        anatomy = Anatomy(text)
        assert not anatomy.mistakes
        assert not anatomy.open
        assert len(anatomy.ids) == len(set(anatomy.ids))
        assert set(anatomy.references) <= set(anatomy.ids)


def test_no_folder_of_this_machine_is_named(sweep: Path, sweep_page: str) -> None:
    assert str(sweep.parent) not in sweep_page
    assert str(Path.home()) not in sweep_page


def test_what_users_wrote_is_escaped(tmp_path: Path) -> None:
    evil = "<img/onerror=alert(1)>"
    make_run(tmp_path, name=evil, job="<b>job", settings={"betas": evil})
    make_run(tmp_path, name=evil, job="other", settings={"betas": "'\"><i>"})
    text = page(read([tmp_path]))
    assert "<img" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "&lt;img/onerror=alert(1)&gt;" in text


def test_a_failure_message_is_escaped(sweep_page: str) -> None:
    assert "heads &lt;b&gt;do not&lt;/b&gt; divide the width" in sweep_page


def test_runs_without_results_are_shown(sweep_page: str) -> None:
    faults = sweep_page[sweep_page.index('id="faults"') :]
    for words in ("rope, untied, seed 1", "none, tied, seed 0", "learned, untied, seed 1"):
        assert words in faults
    assert "4 of 20 runs left no results" in sweep_page
    assert "results.json is not there" in faults


def test_a_cut_line_of_metrics_is_passed_over(tmp_path: Path) -> None:
    run = make_run(tmp_path, status=Status.interrupted, steps=60)
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 70, "train_lo')
    text = page(read([run]))
    assert "stopped by a person, or killed" in text
    assert re.search(r'<td class="number">60</td>', text)


def test_every_section_is_on_every_page_and_the_silent_ones_share_the_last(
    sweep_page: str, single_page: str, tmp_path: Path
) -> None:
    make_run(tmp_path, status=Status.pending)
    keys = [section.key for section in SECTIONS]
    for text in (sweep_page, single_page, page(read([tmp_path]))):
        *titled, last = re.findall(r'<h2 id="([^"]*)"', text)
        silent = re.findall(r'<li id="([^"]*)"><strong>', text)
        assert last == "nothing"
        assert [key for key in keys if key in titled] == titled
        assert sorted([*titled, *silent]) == sorted(keys)
        assert {"summary", "provenance"} <= set(titled)


def test_a_section_names_the_files_that_it_was_read_from(single_page: str) -> None:
    shown = re.findall(r'<h2 id="cost">.*?</h2>\s*<p class="source">([^<]*)<', single_page)
    assert shown == ["Read from results.json (cost)."]


def test_different_data_and_python_are_warned_of(tmp_path: Path) -> None:
    make_run(tmp_path, seed=0)
    make_run(tmp_path, seed=1, fingerprint="another", python="3.12.1")
    text = page(read([tmp_path]))
    assert "did not see the same data" in text
    assert "different versions of Python" in text
    assert "stdlib another (1)" in text


def test_equal_surroundings_are_not_warned_of(single_page: str) -> None:
    assert 'class="warning"' not in single_page


def test_a_comparison_of_few_seeds_is_called_a_screen(sweep_page: str, tmp_path: Path) -> None:
    assert "This comparison is a screen" in sweep_page
    for seed in range(6):
        for position in ("rope", "none"):
            make_run(tmp_path, position=position, seed=seed)
    assert "This comparison is a screen" not in page(read([tmp_path]))


def test_an_output_that_cannot_be_written_is_refused(single: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Refusal, match="--output FILE"):
        build([single], output=tmp_path / "file" / "report.html")
