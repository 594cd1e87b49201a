"""The line on the terminal."""

import io
import sys

import pytest
from typing_extensions import override

from andrea_exp.data import progress
from andrea_exp.data.progress import Progress


class Terminal(io.StringIO):
    @override
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with Progress("tokenizing training text", total=2_000_000) as line:
        line.advance(500_000)
        line.advance(1_000_000)
    return stream.getvalue()


def test_a_terminal_shows_what_is_done_and_how_far(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "_QUICK_S", 0.0)
    text = shown(Terminal(), monkeypatch)
    assert "tokenizing training text" in text
    assert "1.5/2.0 MB" in text


def test_what_takes_no_time_is_not_shown(monkeypatch: pytest.MonkeyPatch):
    assert shown(Terminal(), monkeypatch) == ""


def test_a_file_gets_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(progress, "_QUICK_S", 0.0)
    assert shown(io.StringIO(), monkeypatch) == ""
