"""The surroundings of a run: the commit of the program, versions, the machine."""

import os
import platform
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from andrea_exp.record.manifest import Platform
from andrea_exp.record.redact import redact_source

LONGEST_PATCH = 1_000_000
"""Characters of a patch that are kept."""

_GIT_TIMEOUT_S = 10
_PACKAGE = "andrea_exp"
_OF_KERNELS = "gpu"
"""The extra that kernel backends need."""


class Checkout(NamedTuple):
    """The state of a git work tree."""

    sha: str
    """Commit, 40 hexadecimal digits."""
    dirty: bool
    """Whether files differ from it, new ones included."""
    patch: str | None
    """What makes the program out of its commit, as `git apply` takes it: changes of tracked files,
    and new ones that are part of the program. Redacted, and cut to LONGEST_PATCH; a last line in
    brackets says so. None if there are none."""


def checkout(directory: Path, *, conf: Path) -> Checkout | None:
    """The work tree that has files of this directory under version control.

    None without git, outside a work tree, before its first commit, if git does not answer in time,
    and for a directory that a work tree contains but does not track (an installed package, say).
    Nothing is written into the repository.

    Args:
        directory: of the program.
        conf: of its configuration. Here and there, new `.py` and `.yaml` files that git does not
            ignore are part of the program: an option is written so.
    """
    sha = _git(directory, "rev-parse", "--verify", "HEAD")
    tracked = _git(directory, "ls-files", "--", ".")
    state = _git(directory, "status", "--porcelain")
    if sha is None or not tracked or state is None:
        return None
    patch = _patch(directory, conf) if state else None
    return Checkout(sha=sha.strip(), dirty=bool(state), patch=patch)


def packages() -> dict[str, str]:
    """Dependency -> installed version, this package included; what is absent is left out.

    Those of kernel backends are among them, and those of other extras are not.
    """
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


def _patch(directory: Path, conf: Path) -> str | None:
    top = Path((_git(directory, "rev-parse", "--show-toplevel") or "").rstrip("\n"))
    new = [name for folder in (directory, conf) for name in _new_files(folder)]
    short = [name for name in new if (top / name).lstat().st_size <= LONGEST_PATCH]
    diff = _bounded(_difference(top, new=short) or "")
    left_out = ", ".join(name for name in new if name not in short)
    return (f"{diff}[left out, too long: {left_out}]\n" if left_out else diff) or None


def _new_files(folder: Path) -> list[str]:
    """The program's untracked files in a folder, relative to the top of the work tree."""
    listed = _git(folder, "ls-files", "-z", "--full-name", "--others", "--exclude-standard")
    return [name for name in (listed or "").split("\0") if name.endswith((".py", ".yaml"))]


def _difference(top: Path, *, new: Sequence[str]) -> str | None:
    """`git diff HEAD` as if these files were tracked; found with an index beside the user's own."""
    compare = ("diff", "--no-ext-diff", "--no-textconv", "HEAD")
    if not new:
        return _git(top, *compare)
    places = [_git(top, "rev-parse", "--git-path", name) or "" for name in ("index", "objects")]
    index, objects = (top / place.rstrip("\n") for place in places)
    with tempfile.TemporaryDirectory() as scratch:
        beside = {
            "GIT_INDEX_FILE": f"{scratch}/index",
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        shutil.copy2(index, beside["GIT_INDEX_FILE"])  # git compares its time with those of files
        _git(top, "add", "--intent-to-add", "--", *new, variables=beside)
        return _git(top, *compare, variables=beside)


def _git(
    directory: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> str | None:
    """Output of a git command that only reads; None if it fails or takes too long."""
    # Inside a hook, git's own variables point at another repository than the directory's.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(directory), *arguments],
            env={**environment, **(variables or {})},
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
    """What decides results and speed: by the metadata, or by the project file if not installed."""
    try:
        stated = metadata.requires(_PACKAGE) or []
    except metadata.PackageNotFoundError:
        path = Path(__file__).parents[2] / "pyproject.toml"
        if not path.is_file():
            return []
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        return [*project["dependencies"], *project["optional-dependencies"][_OF_KERNELS]]
    return [requirement for requirement in stated if _extra(requirement) in (None, _OF_KERNELS)]


def _extra(requirement: str) -> str | None:
    """The extra that a requirement belongs to; None of one that is always needed."""
    found = re.search(r";.*\bextra\s*==\s*['\"]([\w-]+)['\"]", requirement)
    return found and found[1]


def _name(requirement: str) -> str:
    """`hydra-core` of `hydra-core<1.4,>=1.3.8`."""
    return re.split(r"[^A-Za-z0-9._-]", requirement.strip(), maxsplit=1)[0]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
