"""A Slurm of one's own on this machine: two small nodes, for as long as a block lasts.

Everything lies in one folder and listens on free ports of the loopback device, so that several
clusters, and one that the machine belongs to, do not meet. Debian's packages are enough:
`apt-get install slurm-wlm munge`. By hand, until Ctrl-C: `python -m tests.slurm.cluster`.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import final

PROGRAMS = (
    *("munged", "mungekey", "slurmctld", "slurmd"),
    *("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo"),
)
NODES = {"wide": 16, "narrow": 1}
"""Name -> processors that a node claims. Nobody counts, and what runs here mostly waits."""
GPUS = 2
"""Graphics cards that node `wide` claims."""
REQUEUE_DELAY_S = 6
"""Slurm lets a job wait that long before it starts again; the lifetime of its credential."""
PATIENCE_S = 30.0

# Slurm looks at time limits every 30 s, and sends a warning signal up to 30 s early.
SETTINGS = """
ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=60
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName=wide NodeAddr=127.0.0.1 Port={ports[1]} CPUs={nodes[wide]} RealMemory=16000 Gres=gpu:{gpus}
NodeName=narrow NodeAddr=127.0.0.1 Port={ports[2]} CPUs={nodes[narrow]} RealMemory=16000
PartitionName=main Nodes=wide Default=YES
PartitionName=low Nodes=narrow PriorityTier=1 PreemptMode=REQUEUE
PartitionName=high Nodes=narrow PriorityTier=2 PreemptMode=OFF
"""


def reasons() -> list[str]:
    """Why no cluster can be started here; empty if one can."""
    absent = [program for program in PROGRAMS if _found(program) is None]
    found = [f"no {', '.join(absent)} here (apt-get install slurm-wlm munge)"] if absent else []
    if os.geteuid() != 0:
        found.append("slurmd runs jobs as their owner, hence as root alone")
    return found


@final
@dataclass(frozen=True)
class Cluster:
    """A running cluster. Its commands are found by `SLURM_CONF`."""

    settings: Path
    """What `SLURM_CONF` names."""

    def answer(self, *words: str) -> str:
        """What one of Slurm's commands prints."""
        done = subprocess.run(
            words,
            env={**os.environ, "SLURM_CONF": str(self.settings)},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def queue(self) -> dict[str, str]:
        """Job -> state, of all jobs that wait, run or are about to end."""
        lines = self.answer("squeue", "--noheader", "--array", "--format=%i %T").splitlines()
        return dict(line.split(maxsplit=1) for line in lines)

    def job(self, job_id: str) -> dict[str, str]:
        """What Slurm knows about a job, also for some minutes after its end."""
        words = self.answer("scontrol", "--oneliner", "show", "job", job_id).split()
        return dict(word.split("=", maxsplit=1) for word in words if "=" in word)


@contextmanager
def running() -> Generator[Cluster]:
    """Start a cluster; at the end its daemons, its jobs and its folder are gone."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        folder.chmod(0o755)
        settings = _configure(folder)
        environment = {**os.environ, "SLURM_CONF": str(settings)}

        def start(*words: str) -> None:
            stack.enter_context(_daemon(words, folder=folder, environment=environment))

        socket_file = folder / "munge.socket"
        key = folder / "munge.key"
        subprocess.run([_program("mungekey"), "--create", f"--keyfile={key}"], check=True)
        start(
            *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={socket_file}"),
            *(f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log"),
            f"--seed-file={folder}/munged.seed",
        )
        _wait(socket_file.exists, folder)
        start("slurmctld", "-D", "-f", str(settings))
        for node in NODES:
            start("slurmd", "-D", "-N", node, "-f", str(settings))
        cluster = Cluster(settings)
        _wait(lambda: _idle(environment) == set(NODES), folder)
        try:
            yield cluster
        finally:
            _end_jobs(cluster)


def _end_jobs(cluster: Cluster) -> None:
    """End every job, and wait until none is left."""
    environment = {**os.environ, "SLURM_CONF": str(cluster.settings)}
    while jobs := cluster.queue():
        for words in (["--full", "--signal=KILL"], []):  # it fails if one has ended meanwhile
            subprocess.run(["scancel", "--quiet", *words, *jobs], env=environment, check=False)
        time.sleep(0.2)


def _configure(folder: Path) -> Path:
    settings = folder / "slurm.conf"
    text = SETTINGS.format(
        folder=folder,
        host=socket.gethostname().partition(".")[0],
        ports=_free_ports(3),
        nodes=NODES,
        gpus=GPUS,
    )
    settings.write_text(text, encoding="utf-8")
    for card in range(GPUS):
        (folder / f"gpu{card}").touch()
    cards = f"NodeName=wide Name=gpu File={folder}/gpu[0-{GPUS - 1}]\n"
    (folder / "gres.conf").write_text(cards, encoding="utf-8")
    (folder / "state").mkdir()
    for node in NODES:
        (folder / f"spool-{node}").mkdir()
    return settings


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _daemon(
    words: Sequence[str], *, folder: Path, environment: dict[str, str]
) -> Generator["subprocess.Popen[bytes]"]:
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(
            [_program(words[0]), *words[1:]],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # a Ctrl-C is for pytest; this one is ended below
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _idle(environment: dict[str, str]) -> set[str]:
    """Nodes that take jobs; none while the controller does not answer."""
    done = subprocess.run(
        ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(done.stdout.split())


def _wait(condition: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            logs = [path.read_text(errors="replace")[-3000:] for path in folder.glob("*.log")]
            raise TimeoutError("Slurm did not start:\n" + "\n".join(logs))
        time.sleep(0.05)


def _found(program: str) -> str | None:
    """Daemons lie where the path of a person does not always lead."""
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def _program(name: str) -> str:
    path = _found(name)
    assert path is not None
    return path


if __name__ == "__main__":
    with running() as cluster:
        print(f"export SLURM_CONF={cluster.settings}", flush=True)
        try:
            signal.pause()
        except KeyboardInterrupt:
            sys.exit()
