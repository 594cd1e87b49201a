"""The C library's allocator, told to keep what a training step frees for the next one."""

import ctypes
import os
import platform
from typing import Final

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1  # mallopt's names for them, from glibc's malloc.h
_LARGEST: Final = 2**31 - 1
_BLOCK_BYTES: Final = 2**30
_OF_THE_USER: Final = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_memory() -> bool:
    """Let glibc reuse blocks of up to 1 GiB; whether it now does.

    By default it maps each block above some megabytes anew and gives it back when it is freed, so
    every step of a model with many token ids pays a page fault for each 4 KiB of its logits and
    their gradients. The price is a larger resident process: an aligned block seldom fits into its
    own hole, so some turns pass before holes are found for all.

    It holds for the whole process and cannot be undone. Settings of the user stay as they are, and
    other C libraries too.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in _OF_THE_USER):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return bool(mallopt(_MMAP_THRESHOLD, _BLOCK_BYTES) and mallopt(_TRIM_THRESHOLD, _LARGEST))
