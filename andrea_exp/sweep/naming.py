"""Job names of a sweep: what varies, readable, and the recipe's hash."""

import re
from collections.abc import Sequence

LONGEST = 120
"""Bytes of the readable part; file systems allow 255 for a name."""


def job_names(jobs: Sequence[Sequence[str]], hashes: Sequence[str]) -> list[str]:
    """One folder name per job: the words that differ between jobs, and the hash.

    The same job of the same command gets the same name again.
    """
    shared = set[str](jobs[0]).intersection(*jobs) if len(jobs) > 1 else set[str]()
    return [
        _readable([word for word in job if word not in shared]) + f"-{digest}"
        for job, digest in zip(jobs, hashes, strict=True)
    ]


def _readable(words: Sequence[str]) -> str:
    text = re.sub(r"[^\w.=,+-]", "_", ",".join(words))
    return text.encode()[:LONGEST].decode(errors="ignore").strip(".,") or "job"
