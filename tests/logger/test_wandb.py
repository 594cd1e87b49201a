import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import andrea_exp
from andrea_exp.component import Range
from andrea_exp.logger.base import Disabled, Labels, Mode
from andrea_exp.logger.wandb import WandbConfig
from tests.wandb_server import KEY

ROOT = Path(andrea_exp.__file__).parents[1]
VALUES = yaml.safe_load((ROOT / "conf" / "logger" / "wandb.yaml").read_text())
TYPED: dict[str, Any] = {**VALUES, "mode": Mode[VALUES["mode"]]}
OPTION = WandbConfig(**TYPED)
CONFIG = {"model": {"d_model": 12}, "betas": [0.9, 0.95], "api_key": "abc"}
HANGING_S = 30.0
"""Without a limit of ours W&B tries for longer than this."""

# Each test has a process of its own: the service behind W&B lives as long as the process.
PRELUDE = f"""
import logging, os, signal, sys, time
from dataclasses import replace
from pathlib import Path
from andrea_exp.logger.base import Labels, Mode
from andrea_exp.logger.wandb import WandbConfig
logging.basicConfig(level=logging.INFO)
OPTION = WandbConfig(**{{**{VALUES!r}, "mode": Mode[{VALUES["mode"]!r}]}})
DIRECTORY = Path("run")
def open_it(option=None, resume_id=None):
    labels = Labels(name="a run", group="a sweep", job_type="train", tags=["toy", "rope"])
    return (option or OPTION).open(
        directory=DIRECTORY, labels=labels, config={CONFIG!r}, resume_id=resume_id
    )
"""
WHOLE = """
import io
from PIL import Image
picture = io.BytesIO()
Image.new("RGB", (3, 5)).save(picture, "png")
Path("picture.png").write_bytes(picture.getvalue())
logger = open_it()
for step in (0, 10, 20):
    logger.log({"step": step, "loss_nats": 5.0 - step / 8, "gone_nats": None})
logger.table("lengths", columns=["length", "loss"], rows=[[64, 2.5], [128, "refused"], [256, None]])
logger.image("bytes", picture.getvalue())
logger.image("file", Path("picture.png"))
logger.finish({"val_loss_nats": 2.75, "floor_nats": None}, failed=False)
print(logger.identity().id, logger.identity().mode, logger.identity().directory)
"""
RESUMED = """
first = open_it()
first.log({"step": 5, "loss_nats": 4.0})
first.finish({}, failed=True)
time.sleep(1.1)  # W&B names its folders by the second
second = open_it(resume_id=first.identity().id)
second.log({"step": 6, "loss_nats": 3.0})
second.finish({}, failed=False)
for logger in (first, second):
    print(logger.identity().id, logger.identity().directory)
"""
KILLED = """
logger = open_it()
for step in range(4):
    logger.log({"step": step, "loss_nats": 5.0 - step})
time.sleep(1.5)
print(logger.identity().directory, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
ONLINE = """
logger = open_it(replace(OPTION, mode=Mode.online, init_timeout_s=1.0))
logger.log({"step": 0, "loss_nats": 4.0})
logger.finish({}, failed=False)
print(logger.identity().mode)
"""


def execute(place: Path, code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    (place / "run").mkdir()
    (place / "home").mkdir()
    inherited = {name: value for name, value in os.environ.items() if "WANDB" not in name}
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code],
        cwd=place,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
        env={**inherited, "PYTHONPATH": str(ROOT), "HOME": str(place / "home"), **variables},
    )


def inspect(folder: Path, *options: str) -> str:
    (file,) = folder.glob("*.wandb")
    binary = str(Path(sys.executable).with_name("wandb"))
    command = [binary, "leet", "inspect", *options, "--json", str(file)]
    # It keeps a log in the folder `wandb` of the current one.
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder.parent)
    return done.stdout


def summary_of(folder: Path) -> dict[str, object]:
    return json.loads(inspect(folder, "--summary"))


def records_of(folder: Path, kind: str) -> list[dict[str, object]]:
    records = [json.loads(line) for line in inspect(folder).splitlines()]
    return [record[kind] for record in records if record["type"] == kind]


@pytest.mark.slow
def test_an_offline_run_can_be_read_back_whole(tmp_path: Path) -> None:
    done = execute(tmp_path, WHOLE, WANDB_API_KEY=KEY, WANDB_RUN_ID="other", WANDB_MODE="disabled")
    assert (done.returncode, done.stderr) == (0, "")
    number, mode, directory = done.stdout.split()
    assert mode == "offline"
    folder = tmp_path / "run" / directory
    read = summary_of(folder)
    assert read["state"] == "finished"
    assert read["config"] == {**CONFIG, "api_key": "***"}
    assert (read["run_id"], read["name"], read["project"]) == (number, "a run", VALUES["project"])
    assert number != "other"
    shown = read["summary"]
    assert isinstance(shown, dict)
    assert (shown["loss_nats"], shown["val_loss_nats"], shown["_step"]) == (2.5, 2.75, 20)
    assert shown["lengths"]["nrows"] == 3
    assert (shown["bytes"]["width"], shown["file"]["height"]) == (3, 5)
    (run,) = records_of(folder, "run")
    assert (run["run_group"], run["job_type"], run["tags"]) == ("a sweep", "train", ["toy", "rope"])
    assert "git" not in run
    assert "host" not in run
    assert records_of(folder, "environment") == []
    steps = [item["step"] for item in records_of(folder, "history")]
    assert steps == [{"num": 0}, {"num": 10}, {"num": 20}]
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert all(KEY.encode() not in file.read_bytes() for file in files)
    outside = {file.relative_to(tmp_path).parts[:2] for file in files}
    assert outside == {("run", "wandb"), ("home", ".cache"), ("picture.png",)}


@pytest.mark.slow
def test_a_failed_run_says_so_and_its_resumption_has_the_same_id(tmp_path: Path) -> None:
    done = execute(tmp_path, RESUMED)
    assert (done.returncode, done.stderr) == (0, "")
    (first, failed), (second, finished) = (line.split() for line in done.stdout.splitlines())
    assert first == second
    assert failed != finished
    states = [summary_of(tmp_path / "run" / place)["state"] for place in (failed, finished)]
    assert states == ["failed", "finished"]
    steps = [item["step"] for item in records_of(tmp_path / "run" / finished, "history")]
    assert steps == [{"num": 6}]


@pytest.mark.slow
def test_a_killed_run_keeps_its_rows(tmp_path: Path) -> None:
    done = execute(tmp_path, KILLED)
    folder = tmp_path / "run" / done.stdout.strip()
    assert len(records_of(folder, "history")) >= 3  # the last one waits for the next


@pytest.mark.slow
def test_online_without_an_account_goes_on_with_one_line_and_asks_nothing(tmp_path: Path) -> None:
    done = execute(tmp_path, ONLINE)
    assert done.stdout == "online (unreachable)\n"
    (line,) = done.stderr.splitlines()
    assert "logger=wandb cannot be opened online: ConnectionError: no W&B account" in line


@pytest.mark.slow
def test_online_without_a_server_goes_on_with_one_line_that_keeps_the_key(tmp_path: Path) -> None:
    done = execute(tmp_path, ONLINE, WANDB_API_KEY=KEY, WANDB_BASE_URL="http://127.0.0.1:9")
    assert done.stdout == "online (unreachable)\n"
    (line,) = done.stderr.splitlines()
    assert "logger=wandb cannot be opened online: " in line
    assert KEY not in line


@pytest.mark.slow
def test_a_server_that_takes_the_call_and_never_answers_is_left_within_the_patience(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        done = execute(tmp_path, ONLINE, WANDB_API_KEY=KEY, WANDB_BASE_URL=url)
    assert done.stdout == "online (unreachable)\n"
    (line,) = done.stderr.splitlines()
    assert "logger=wandb cannot be opened online: " in line
    assert KEY not in line
    assert time.monotonic() - began < HANGING_S


def test_neither_the_option_nor_the_disabled_mode_imports_wandb(tmp_path: Path) -> None:
    code = "open_it(replace(OPTION, mode=Mode.disabled)).log({'step': 1})\n"
    done = execute(tmp_path, code + "print({'wandb', 'torch', 'PIL'} & set(sys.modules))")
    assert (done.stdout, done.stderr) == ("set()\n", "")
    assert list((tmp_path / "run").iterdir()) == []


def test_the_disabled_mode_is_the_silent_logger(tmp_path: Path) -> None:
    option = replace(OPTION, mode=Mode.disabled)
    labels = Labels(name="n", group="g", job_type="train", tags=[])
    logger = option.open(directory=tmp_path, labels=labels, config={}, resume_id=None)
    assert isinstance(logger, Disabled)


def test_it_is_offline_unless_asked() -> None:
    assert OPTION.mode is Mode.offline


@pytest.mark.parametrize("key", ["init_timeout_s", "finish_timeout_s"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number(key: str, value: float) -> None:
    values: dict[str, Any] = {**TYPED, key: value}
    with pytest.raises(ValueError, match=f"{key} must be {Range(low=0, open_low=True)}"):
        WandbConfig(**values)
