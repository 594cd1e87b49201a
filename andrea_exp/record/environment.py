"""The surroundings of a run: the commit of the program, versions, the machine."""

import os
import platform
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from andrea_exp.record.manifest import Platform
from andrea_exp.record.redact import redact_source

LONGEST_PATCH = 1_000_000
"""Characters of a patch that are kept."""

_GIT_TIMEOUT_S = 10
_PACKAGE = "andrea_exp"


class Checkout(NamedTuple):
    """The state of a git work tree."""

    sha: str
    """Commit, 40 hexadecimal digits."""
    dirty: bool
    """Whether files differ from it, new ones included."""
    patch: str | None
    """`git diff HEAD`, cut to LONGEST_PATCH and redacted; None if tracked files are unchanged."""


def checkout(directory: Path) -> Checkout | None:
    """The work tree that has files of this directory under version control.

    None without git, outside a work tree, before its first commit, if git does not answer in time,
    and for a directory that a work tree contains but does not track (an installed package, say).
    """
    sha = _git(directory, "rev-parse", "--verify", "HEAD")
    tracked = _git(directory, "ls-files", "--", ".")
    state = _git(directory, "status", "--porcelain")
    if sha is None or not tracked or state is None:
        return None
    diff = _git(directory, "diff", "--no-ext-diff", "--no-textconv", "HEAD")
    return Checkout(sha=sha.strip(), dirty=bool(state), patch=_bounded(diff) if diff else None)


def packages() -> dict[str, str]:
    """Core dependency -> installed version, this package included; what is absent is left out."""
    names = [_PACKAGE, *(_name(requirement) for requirement in _requirements())]
    found = {name: _version(name) for name in sorted(names)}
    return {name: version for name, version in found.items() if version is not None}


def this_platform() -> Platform:
    """The machine that runs this process."""
    return Platform(
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        python=platform.python_version(),
    )


def _git(directory: Path, *arguments: str) -> str | None:
    """Output of a git command that only reads; None if it fails or takes too long."""
    # Inside a hook, git's own variables point at another repository than the directory's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(directory), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")


def _bounded(diff: str) -> str:
    text = redact_source(diff)
    if len(text) <= LONGEST_PATCH:
        return text
    return f"{text[:LONGEST_PATCH]}\n[cut here: {len(text)} characters in all]\n"


def _requirements() -> list[str]:
    """What the package always needs: by its metadata, or by its project file if not installed."""
    try:
        stated = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        project = Path(__file__).parents[2] / "pyproject.toml"
        if not project.is_file():
            return []
        return tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    return [requirement for requirement in stated if not re.search(r";.*\bextra\b", requirement)]


def _name(requirement: str) -> str:
    """`hydra-core` of `hydra-core<1.4,>=1.3.8`."""
    return re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
