"""A file system of a few pages, for tests of what happens when it is full."""

import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, *, size: int) -> Generator[Path]:
    """A file system of `size` bytes at a new folder; the test is skipped where none can be made."""
    place.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no file system can be made here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        # Lazily, as memory may still be mapped to files there.
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    """A file that leaves so many bytes of the disk free, up to a page."""
    ballast = disk / "ballast"
    ballast.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - leave)))
    return ballast
