"""Every claim, measured without a run; and the three ways to read what was measured."""

import html
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console
from typing_extensions import override

import andrea_exp
from andrea_exp.lesson.claim import (
    Claim,
    Number,
    Relation,
    Value,
    Verdict,
    above,
    below,
    equal,
    near,
    told,
)
from andrea_exp.lesson.claims import claims, questions
from andrea_exp.lesson.page import page
from andrea_exp.lesson.record import written
from andrea_exp.lesson.terminal import block, chart
from andrea_exp.lesson.words import shown, summary

BY_TRAINING = [12, 14, 22, 24]
"""Claims that training alone can decide, whatever else is measured beside it."""
WITH_A_PART_BY_TRAINING = [12, 14, 21, 22, 23, 24, 26, 27, 28]


@pytest.fixture(scope="module")
def found() -> list[Claim]:
    return list(claims(None))


def test_none_of_the_claims_is_left_out(found: list[Claim]) -> None:
    assert [claim.number for claim in found] == list(range(1, 29))


def test_every_claim_that_needs_no_training_holds(found: list[Claim]) -> None:
    wrong = [value for claim in found for value in claim.values if value.holds is False]
    assert wrong == []
    holding = [claim.number for claim in found if claim.verdict is Verdict.holds]
    assert holding == [number for number in range(1, 29) if number not in BY_TRAINING]


def test_what_training_decides_names_a_command_and_nothing_else_does(found: list[Claim]) -> None:
    assert [claim.number for claim in found if claim.command] == WITH_A_PART_BY_TRAINING
    needing = [claim.number for claim in found if claim.verdict is Verdict.needs_a_run]
    assert needing == BY_TRAINING


def test_every_number_with_an_expectation_would_be_noticed_if_it_were_off(
    found: list[Claim],
) -> None:
    for claim in found:
        for value in claim.values:
            if value.relation is not None:
                assert replace(value, value=off(value)).holds is False, value.name


def off(value: Value) -> Number:
    """The value as it must not be: other words, or a number on the wrong side, far away."""
    sign = -1 if value.relation is Relation.above else 1
    match value.value:
        case str(words):
            return f"{words}!"
        case list(numbers):
            return [*numbers[:-1], numbers[-1] + max(1.0, abs(numbers[-1]))]
        case number:
            return number + sign * max(1.0, abs(number))


def test_json_has_every_number_and_verdict(found: list[Claim]) -> None:
    read = json.loads(written(found))
    assert [each["verdict"] for each in read] == [claim.verdict.words for claim in found]
    for each, claim in zip(read, found, strict=True):
        assert [value["value"] for value in each["values"]] == [v.value for v in claim.values]
    sizes = {value["name"]: value["value"] for value in read[2]["values"]}
    assert sizes["andrea_120m: embedding layer"] == 7_275_264


def printed(found: list[Claim]) -> str:
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        for claim in found:
            console.print(block(claim))
    return captured.get()


def test_80_columns_are_enough_and_every_word_of_the_lessons_is_there(found: list[Claim]) -> None:
    text = printed(found)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 80
    flat = "".join(text.split())
    for claim in found:
        for words in (claim.question, claim.says, claim.right or "", claim.command or ""):
            assert "".join(words.split()) in flat
    assert "\u2717" not in text.replace("\u2713", "")
    assert "\N{BALLOT X}" not in text


def test_the_readme_shows_what_is_printed(found: list[Claim]) -> None:
    readme = (Path(andrea_exp.__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (excerpt,) = re.findall(r"```text\n(10\. Exercise.*?)\n```", readme, re.DOTALL)
    lines = [line.rstrip() for line in printed([found[9]]).splitlines()]
    assert "\n".join(lines).rstrip() == excerpt


def test_a_failing_value_is_marked_in_the_terminal_and_on_the_page() -> None:
    wrong = Claim(
        number=1,
        question="?",
        says="",
        right=None,
        live=[equal("size", 5, 4)],
        read=[],
        by_training=False,
        plots=[],
        command=None,
    )
    assert wrong.verdict is Verdict.fails
    assert "\N{BALLOT X}" in printed([wrong])
    assert "\N{BALLOT X}" in page([wrong], runs=None)
    assert summary([wrong]) == "1 claims; fails: 1 (1)"


class Ids(HTMLParser):
    """Ids of a page, what refers to them, and tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.references: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in {"meta", "link", "br"}:
            self.open.append(tag)
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            if name in {"aria-labelledby", "aria-describedby"}:
                self.references.append(value or "")
            if name == "href" and (value or "").startswith("#"):
                self.references.append((value or "")[1:])

    @override
    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return

    @override
    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_needs_nothing_else_and_has_every_number(found: list[Claim]) -> None:
    text = str(page(found, runs=None))
    assert not re.search(r"https?:|src=|url\((?!#)|@import|<script", text)
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    read = Ids(text)
    assert read.open == []
    assert len(set(read.ids)) == len(read.ids)
    assert set(read.references) <= set(read.ids)
    assert {f"claim-{number}" for number in range(1, 29)} <= set(read.ids)
    for claim in found:
        for value in claim.values:
            assert shown(value.value) in html.unescape(text)


def test_a_value_stands_to_what_is_expected_as_its_relation_says() -> None:
    assert equal("", [1, 2], [1, 2]).holds
    assert equal("", [1, 2], [2, 1]).holds is False
    assert near("", [1.0, 2.0], [1.1, 2.0], within=0.2).holds
    assert near("", [1.0, 2.0], [1.3, 2.0], within=0.2).holds is False
    assert near("", [1.0], [1.0, 2.0], within=0.2).holds is False
    assert (below("", 1, 2).holds, below("", 2, 2).holds) == (True, False)
    assert (above("", 3, 2).holds, above("", 2, 2).holds) == (True, False)
    nan = float("nan")
    assert not any(
        each.holds for each in (near("", nan, nan, within=1), below("", nan, 1), above("", nan, 1))
    )
    assert told("", 3).holds is None


def test_a_chart_fills_eighths_of_rows_from_low_to_high() -> None:
    rows = chart([0, 0.5, 1], low=0, high=1)
    assert [row.ljust(3) for row in rows] == ["  █", "  █", " ▄█", " ██", " ██"]
    assert chart([2, 2], low=2, high=2) == [""] * 5


def test_every_claim_says_what_the_lesson_says() -> None:
    assert all(question.question.endswith("?") for question in questions())
    assert all(question.says for question in questions())
    assert all(question.live or question.trained for question in questions())
    assert all((question.trained is None) == (question.command is None) for question in questions())
