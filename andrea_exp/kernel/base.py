"""The backends of one model: who computes each of the three operations that are measured."""

from dataclasses import dataclass
from typing import NamedTuple

import torch

from andrea_exp.component import Config
from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp


class Kernels(NamedTuple):
    """The operations that the parts of a model call."""

    embedding: EmbeddingOp
    attention: AttentionOp
    cross_entropy: CrossEntropyOp


@dataclass(kw_only=True, frozen=True)
class KernelConfig(Config):
    """One backend per operation."""

    embedding: EmbeddingKernelConfig
    attention: AttentionKernelConfig
    cross_entropy: CrossEntropyKernelConfig

    def chosen(self) -> dict[str, str]:
        """Operation -> name of its backend, as a run records it."""
        return {
            "embedding": self.embedding.name,
            "attention": self.attention.name,
            "cross_entropy": self.cross_entropy.name,
        }

    def reasons(self, *, device: torch.device, dtype: torch.dtype) -> list[str]:
        """Every reason why a chosen backend cannot run here, each naming its operation."""
        backends = {
            "embedding": self.embedding,
            "attention": self.attention,
            "cross_entropy": self.cross_entropy,
        }
        return [
            f"kernel/{operation}={backend.name}: {reason}"
            for operation, backend in backends.items()
            for reason in backend.reasons(device=device, dtype=dtype)
        ]

    def build(self) -> Kernels:
        """The operations, as plain functions of tensors."""
        return Kernels(
            embedding=self.embedding.build(),
            attention=self.attention.build(),
            cross_entropy=self.cross_entropy.build(),
        )
