"""Runs that are sent to a server while they train, or afterwards by `wandb sync`."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from threading import Thread

import pytest

from tests.logger.test_wandb import CONFIG, ONLINE, VALUES, WHOLE, execute
from tests.wandb_server import KEY, WandbServer, serving

pytestmark = pytest.mark.slow

ON = "OPTION = replace(OPTION, mode=Mode.online)\n"
HALVES = """
def half(steps, resume_id=None, failed=False):
    logger = open_it(resume_id=resume_id)
    for step in steps:
        logger.log({"step": step, "loss_nats": 5.0 - step})
    logger.finish({}, failed=failed)
    return logger.identity().id
first = half([1, 2, 3], failed=True)
time.sleep(1.1)  # W&B names its folders by the second
print(first, half([4, 5], resume_id=first))
"""
PATIENCE_S = 2.0
BUSY_S, HANGING_S = 15.0, 60.0
"""What rows and a table, and the end of the process, may take on a busy machine. Where W&B asks the
dead server, or waits for it without a limit of ours, it takes longer."""
LOSING = f"""
logger = open_it(replace(OPTION, finish_timeout_s={PATIENCE_S}))
logger.log({{"step": 1, "loss_nats": 4.0}})
while not Path("dead").exists():
    time.sleep(0.01)
began = time.monotonic()
for step in range(2, 200):
    logger.log({{"step": step, "loss_nats": 3.0}})
logger.table("lengths", columns=["length", "loss"], rows=[[64, 2.5]])
waited_s, finished = time.monotonic() - began, time.time()
logger.finish({{"val_loss_nats": 2.75}}, failed=False)
logger.log({{"step": 200, "loss_nats": 3.0}})
print(logger.identity().mode, waited_s, finished, logger.identity().directory)
"""
ABOUT = {
    "displayName": "a run",
    "groupName": "a sweep",
    "jobType": "train",
    "project": VALUES["project"],
    "tags": ["toy", "rope"],
}
NAMED = ("lengths", "bytes", "file")


@pytest.fixture
def server() -> Generator[WandbServer]:
    with serving() as server:
        yield server


def account(server: WandbServer) -> dict[str, str]:
    """The environment of somebody who has an account there."""
    return {"WANDB_API_KEY": KEY, "WANDB_BASE_URL": server.url}


def sync(server: WandbServer, folder: Path, *options: str) -> None:
    """What the README says of a run that was not uploaded."""
    binary = str(Path(sys.executable).with_name("wandb"))
    subprocess.run(
        [binary, "sync", *options, folder.name],
        check=True,
        cwd=folder.parent,  # where it keeps a log
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder.parent), **account(server)},
        timeout=60,
    )


def assert_whole(server: WandbServer, number: str) -> None:
    """What `WHOLE` shows has arrived."""
    (found,) = server.runs
    run = server.runs[found]
    assert found == number
    assert {key: run.config[key] for key in CONFIG} == {**CONFIG, "api_key": "***"}
    about = {key: run.about[key] for key in ABOUT}
    assert about == ABOUT
    assert not {"host", "commit", "repo"} & set(run.about)
    assert [(row["_step"], row["loss_nats"]) for row in run.rows()] == [
        (0, 5.0),
        (10, 3.75),
        (20, 2.5),
    ]
    assert (run.summary["val_loss_nats"], run.exit_codes) == (2.75, [0])
    table = json.loads(run.files[run.summary["lengths"]["path"]])
    assert table["data"] == [[64, 2.5], [128, "refused"], [256, None]]
    for name in NAMED:
        shown = run.summary[name]
        assert len(run.files[shown["path"]]) == shown["size"]


def assert_private(place: Path) -> None:
    """Neither the key nor the home directory, in which everything lies, is in any file."""
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    for path in files:
        content = path.read_bytes()
        assert KEY.encode() not in content, path
        assert str(place.parent).encode() not in content, path


def test_a_run_arrives_whole_while_it_trains(server: WandbServer, tmp_path: Path) -> None:
    absolute = 'DIRECTORY = Path("run").absolute()\n'
    home = {"HOME": str(tmp_path)}
    done = execute(tmp_path, ON + absolute + WHOLE, **account(server), **home)
    assert (done.returncode, done.stderr) == (0, "")
    number, mode, _ = done.stdout.split()
    assert mode == "online"
    assert_whole(server, number)
    assert server.runs[number].about["program"] == "andrea_exp"  # and not where it is installed
    assert_private(tmp_path / "run")


def test_an_offline_run_that_has_moved_arrives_whole_by_sync(
    server: WandbServer, tmp_path: Path
) -> None:
    done = execute(tmp_path, WHOLE, HOME=str(tmp_path))
    number, mode, directory = done.stdout.split()
    assert (mode, server.runs) == ("offline", {})
    assert_private(tmp_path / "run")
    shutil.move(tmp_path / "run", tmp_path / "moved")
    sync(server, tmp_path / "moved" / directory)
    assert_whole(server, number)


def test_a_failed_run_arrives_as_failed_and_is_continued_under_its_id(
    server: WandbServer, tmp_path: Path
) -> None:
    done = execute(tmp_path, ON + HALVES, **account(server))
    assert (done.returncode, done.stderr) == (0, "")
    first, second = done.stdout.split()
    assert first == second
    (run,) = server.runs.values()
    assert run.exit_codes == [1, 0]
    assert [row["_step"] for row in run.rows()] == [1, 2, 3, 4, 5]


def test_a_key_that_the_server_refuses_is_one_line(server: WandbServer, tmp_path: Path) -> None:
    other = KEY[::-1]
    done = execute(tmp_path, ONLINE, **account(server) | {"WANDB_API_KEY": other})
    assert done.stdout == "online (unreachable)\n"
    (line,) = done.stderr.splitlines()
    assert "logger=wandb cannot be opened online: " in line
    assert "401" in line
    assert other not in line
    assert server.runs == {}


def test_a_server_that_dies_costs_the_patience_and_one_line(tmp_path: Path) -> None:
    with serving() as server:
        killer = Thread(target=die_when_begun, args=(server, tmp_path / "dead"))
        killer.start()
        done = execute(tmp_path, ON + LOSING, **account(server))
        ended = time.time()
        killer.join()
    assert done.returncode == 0
    mode, waited_s, finished, directory = done.stdout.rsplit(maxsplit=3)
    assert mode == "online (lost)"
    assert float(waited_s) < BUSY_S  # for the rows and the table, it waits for nobody
    assert ended - float(finished) < HANGING_S
    (line,) = done.stderr.splitlines()
    assert "TimeoutError: the service has not taken everything after finish_timeout_s=2" in line
    assert f"wandb sync --include-online run/{directory}; the run goes on" in line
    assert_private(tmp_path / "run")
    with serving() as server:
        sync(server, tmp_path / "run" / directory, "--include-online")
        (run,) = server.runs.values()
    assert [row["_step"] for row in run.rows()] == list(range(1, 200))
    assert run.summary["val_loss_nats"] == 2.75


def die_when_begun(server: WandbServer, mark: Path) -> None:
    """Let the server die once a run has arrived, and tell the run."""
    if server.begun.wait(timeout=60):
        server.die()
    mark.touch()
