from pathlib import Path

import pytest

from andrea_exp.record.redact import redact, redact_source, redacted


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ab")
    for name in ("WANDB_API_KEY", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/ab", "~"),
        ("data.path=/home/ab/text.txt", "data.path=~/text.txt"),
        ("['/home/ab/a', \"/home/ab/b\"]", "['~/a', \"~/b\"]"),
        ("/home/abc/x", "/home/abc/x"),
        ("/home/ab-2/x", "/home/ab-2/x"),
        ("/mnt/home/ab/x", "/mnt/home/ab/x"),
    ],
)
def test_the_home_directory_becomes_a_tilde_and_its_namesakes_stay(text: str, clean: str) -> None:
    assert redact(text) == clean


def test_a_home_behind_a_link_is_found_under_both_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    assert redact(f"{tmp_path}/link/x {tmp_path}/real/y") == "~/x ~/y"


@pytest.mark.parametrize("home", ["/", ""])
def test_a_home_that_is_the_root_or_unset_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    monkeypatch.setenv("HOME", home)
    assert redact("/usr/x /a") == "/usr/x /a"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("+logger.api_key=abc123", "+logger.api_key=***"),
        ("WANDB_API_KEY=abc", "WANDB_API_KEY=***"),
        ("--hf-token=abc", "--hf-token=***"),
        ('{"secret": "a b", "seed": 3}', '{"secret": ***, "seed": 3}'),
        ("password: 'x y', z", "password: ***, z"),
        ("Token=a&b=c", "Token=***&b=c"),
        ("https://me:pass@host/x", "https://***@host/x"),
        ("got hf_" + "a1B2" * 8, "got ***"),
        ("sk-" + "Z9" * 12, "***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, clean: str) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer=bytes",
        "evaluation.batch_tokens=4096",
        "data.tokens: 5",
        "token_embedding=3",
        "model.num_heads=2 keys=4",
        "0123456789abcdef0123456789abcdef01234567",
        "https://host:80/x",
    ],
)
def test_what_only_resembles_one_stays(text: str) -> None:
    assert redact(text) == text


def test_the_value_of_a_secret_variable_is_masked_wherever_it_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef0123")
    monkeypatch.setenv("HF_TOKEN", "short")
    assert redact("refused 0123456789abcdef0123!") == "refused ***!"
    assert redact_source("x = '0123456789abcdef0123'") == "x = '***'"
    assert redact("a short one") == "a short one"


def test_source_code_keeps_its_assignments_and_loses_issued_keys_and_the_home() -> None:
    code = "token = next(ids)\npath = '/home/ab/x'\nkey = 'ghp_" + "a" * 30 + "'\n"
    assert redact_source(code) == "token = next(ids)\npath = '~/x'\nkey = '***'\n"


def test_nested_content_is_cleaned_in_keys_and_values() -> None:
    content = {
        "paths": ["/home/ab/a", ("/home/ab/b", 3)],
        "/home/ab": {"api_key": "abc", "tokens": 4, "none": None},
        "token": 5,
    }
    assert redacted(content) == {
        "paths": ["~/a", ["~/b", 3]],
        "~": {"api_key": "***", "tokens": 4, "none": None},
        "token": 5,
    }
    assert content["paths"] == ["/home/ab/a", ("/home/ab/b", 3)]


def test_this_machine_has_a_home_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    assert redact(f"{Path.home()}/x") in {"~/x", f"{Path.home()}/x"}
