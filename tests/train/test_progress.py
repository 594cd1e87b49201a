"""The progress line."""

import io

import pytest
from typing_extensions import override

from andrea_exp.train.progress import ProgressLine


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


def drawn(stream: io.StringIO, *, shown: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressLine(total=20, shown=shown) as line:
        line.show(step=5, loss_nats=1.2345, tokens_per_s=45678.9)
    return stream.getvalue()


def test_a_terminal_sees_step_loss_speed_and_time_left(monkeypatch: pytest.MonkeyPatch):
    text = drawn(Terminal(), shown=True, monkeypatch=monkeypatch)
    assert "5/20" in text
    assert "loss 1.234 nats" in text
    assert "45,679 tokens/s" in text
    assert "left" in text


def test_what_is_no_terminal_or_was_not_asked_sees_nothing(monkeypatch: pytest.MonkeyPatch):
    assert drawn(io.StringIO(), shown=True, monkeypatch=monkeypatch) == ""
    assert drawn(Terminal(), shown=False, monkeypatch=monkeypatch) == ""
