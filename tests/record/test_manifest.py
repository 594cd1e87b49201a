import json
from dataclasses import fields, replace

import pytest

from andrea_exp.component import Refusal
from andrea_exp.record.manifest import (
    DataIdentity,
    Failure,
    Git,
    LogIdentity,
    Manifest,
    Platform,
    Status,
    utc_now,
)

PENDING = Manifest.pending(
    seed=3, argv=["andrea-exp", "seed=3"], overrides=["seed=3"], choices={"output": "tied"}
)
WHOLE = replace(
    PENDING,
    status=Status.failed,
    started_at="2026-01-02T03:04:05.000+00:00",
    ended_at="2026-01-02T03:05:05.000+00:00",
    git=Git(sha="0" * 40, dirty=True, patch="git.patch"),
    packages={"torch": "2.13.0"},
    platform=Platform(system="Linux 6", machine="x86_64", python="3.11.7"),
    device="cpu",
    threads=2,
    kernel={"attention": "torch"},
    data=DataIdentity(name="noise", fingerprint="ab", tokens=None),
    deterministic=True,
    wandb=LogIdentity(id="x1", mode="offline", directory="wandb/offline-run-x1"),
    failure=Failure(type="ValueError", message="no"),
)


@pytest.mark.parametrize("manifest", [PENDING, WHOLE])
def test_reading_gives_what_was_written(manifest: Manifest) -> None:
    assert Manifest.parse(manifest.text(), source="m") == manifest


def test_the_file_has_the_published_fields_in_sorted_order() -> None:
    content = json.loads(WHOLE.text())
    published = """schema status seed argv overrides choices started_at ended_at git packages
        platform device threads kernel data deterministic wandb failure"""
    assert list(content) == sorted(published.split())
    assert content["git"] == {"sha": "0" * 40, "dirty": True, "patch": "git.patch"}
    assert content["data"] == {"name": "noise", "fingerprint": "ab", "tokens": None}
    assert content["wandb"] == {"id": "x1", "mode": "offline", "directory": "wandb/offline-run-x1"}
    assert content["failure"] == {"type": "ValueError", "message": "no"}
    assert content["status"] == "failed"


def test_the_states_are_the_published_ones() -> None:
    published = "pending running completed failed interrupted preempted nan"
    assert [status.name for status in Status] == published.split()


def test_home_and_secrets_stay_out_of_every_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ab")
    monkeypatch.setenv("WANDB_API_KEY", "0123456789abcdef0123")
    leaking = replace(
        WHOLE,
        argv=["/home/ab/bin/andrea-exp", "+x.api_key=abcdefgh", "outputs=/home/ab/out"],
        overrides=["+x.api_key=abcdefgh"],
        failure=Failure(type="OSError", message="/home/ab/x and 0123456789abcdef0123"),
    )
    text = leaking.text()
    assert all(leak not in text for leak in ("/home/ab", "abcdefgh", "0123456789abcdef0123"))
    read = Manifest.parse(text, source="m")
    assert read.argv == ["~/bin/andrea-exp", "+x.api_key=***", "outputs=~/out"]
    assert read.failure == Failure(type="OSError", message="~/x and ***")


def test_words_of_the_program_stay_though_a_secret_is_called_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {
        "TOKEN": "completed",
        "MY_SECRET": "sinusoidal",
        "PASSWORD": "2.13.0-x",
    }.items():
        monkeypatch.setenv(name, value)
    manifest = replace(
        WHOLE,
        status=Status.completed,
        choices={"position": "sinusoidal"},
        overrides=["question=the sinusoidal one"],
    )
    content = json.loads(manifest.text())
    assert (content["status"], content["choices"]) == ("completed", {"position": "sinusoidal"})
    assert content["overrides"] == ["question=the *** one"]


def test_another_schema_is_refused_with_both_numbers() -> None:
    text = json.dumps({**json.loads(PENDING.text()), "schema": 2})
    with pytest.raises(Refusal, match=r"run/manifest\.json has schema 2.*reads 1"):
        Manifest.parse(text, source="run/manifest.json")


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"status": "running"}'])
def test_what_is_no_manifest_is_refused_by_name(text: str) -> None:
    with pytest.raises(Refusal, match=r"run/manifest\.json"):
        Manifest.parse(text, source="run/manifest.json")


@pytest.mark.parametrize("field", [field.name for field in fields(Manifest)])
def test_a_missing_field_is_named(field: str) -> None:
    content = json.loads(PENDING.text())
    del content[field]
    with pytest.raises(Refusal, match=f"fields {field}$"):
        Manifest.parse(json.dumps(content), source="m")


@pytest.mark.parametrize(
    "change",
    [
        {"status": "happy"},
        {"git": {"sha": "0"}},
        {"git": {"sha": 0, "dirty": True, "patch": None}},
        {"platform": 5},
        {"extra": 1},
        {"seed": "3"},
        {"seed": True},
        {"argv": "python"},
        {"argv": ["python", 3]},
        {"choices": {"output": 3}},
        {"threads": 1.5},
    ],
)
def test_a_field_of_another_layout_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Refusal, match=r"layout|extra"):
        Manifest.parse(json.dumps({**json.loads(PENDING.text()), **change}), source="m")


def test_times_are_utc_and_iso_8601() -> None:
    assert utc_now().endswith("+00:00")
    assert "T" in utc_now()
