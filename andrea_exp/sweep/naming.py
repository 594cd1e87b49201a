"""Job names of a sweep: what varies, readable, and the recipe's hash."""

import re
from collections.abc import Collection, Sequence

LONGEST = 120
"""Bytes of the readable part; file systems allow 255 for a name."""


def job_names(
    jobs: Sequence[Sequence[str]], hashes: Sequence[str], *, fixed: Collection[str] = ()
) -> list[str]:
    """One folder name per job: the words that differ between jobs, and the hash.

    Args:
        jobs: the words of each.
        hashes: of their recipes.
        fixed: words that jobs to come will share too.
    """
    shared = set[str](jobs[0]).intersection(*jobs) if len(jobs) > 1 else set[str]()
    shared.update(fixed)
    return [
        _readable([word for word in job if word not in shared]) + f"-{digest}"
        for job, digest in zip(jobs, hashes, strict=True)
    ]


def digest_and_number(name: str) -> tuple[str | None, int]:
    """The hash that a job's name ends with, and 1, or 2, 3 ... of one that was trained anew."""
    found = re.search(r"-([0-9a-f]{12})(?:-(\d+))?$", name)
    return (found[1], int(found[2] or 1)) if found else (None, 0)


def _readable(words: Sequence[str]) -> str:
    text = re.sub(r"[^\w.=,+-]", "_", ",".join(words))
    return text.encode()[:LONGEST].decode(errors="ignore").strip(".,") or "job"
