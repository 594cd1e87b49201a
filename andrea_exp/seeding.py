"""Independent random streams from one seed, each named by its purpose.

Every part of a model and every consumer of randomness draws from a stream of its own, so that
choosing another part never shifts the draws of the rest.
"""

import hashlib

import numpy as np
import torch


def derive(seed: int, purpose: str) -> int:
    """A 63-bit seed for one purpose: the head of SHA-256 over seed and purpose."""
    digest = hashlib.sha256(f"{seed}/{purpose}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def torch_generator(seed: int, purpose: str) -> torch.Generator:
    """A CPU generator for one purpose."""
    return torch.Generator().manual_seed(derive(seed, purpose))


def numpy_generator(seed: int, purpose: str, index: int = 0) -> np.random.Generator:
    """A generator for item `index` of one purpose, independent of every other item's."""
    return np.random.default_rng([derive(seed, purpose), index])
