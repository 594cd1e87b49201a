"""What stands in `conf/`: groups, options and what each file says of itself. Read as plain text."""

import difflib
from collections.abc import Iterable
from pathlib import Path

ROOT_FILE = "config"
"""Name of the file in `conf/` that names the default choices, without its ending."""


def conf_directory() -> Path:
    """The folder `conf/`: inside the package where it was installed, else beside it."""
    package = Path(__file__).parent.parent
    installed = package / "conf"
    return installed if installed.is_dir() else package.parent / "conf"


def groups() -> dict[str, list[str]]:
    """Group -> its options in alphabetical order; a nested group is written `kernel/embedding`."""
    conf = conf_directory()
    found: dict[str, list[str]] = {}
    for path in sorted(conf.rglob("*.yaml")):
        group = path.parent.relative_to(conf).as_posix()
        if group != ".":
            found.setdefault(group, []).append(path.stem)
    return dict(sorted(found.items()))


def description(group: str, option: str) -> str:
    """The first comment of an option's file that is not a directive to Hydra."""
    path = conf_directory() / group / f"{option}.yaml"
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.removeprefix("#").strip()
        if line.startswith("#") and not text.startswith("@package"):
            return text
    return ""


def owners(group: str, key: str) -> list[str]:
    """The options of a group that have a key of their own, deviations from them left out."""
    return [
        option
        for option in groups()[group]
        if {"name", key} <= _own_keys(conf_directory() / group / f"{option}.yaml")
    ]


def _own_keys(path: Path) -> set[str]:
    """The keys at the left edge of a file."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.partition(":")[0] for line in lines if line[:1].isidentifier()}


def nearest(word: str, candidates: Iterable[str]) -> str:
    """A hint at the most similar candidates, as the end of a message; empty if none is similar."""
    close = difflib.get_close_matches(word, sorted(candidates), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
