"""The backends of one model: who computes each of the three operations that are measured."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from andrea_exp.component import Config
from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.backend import BackendConfig, Use
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

    def backends(self) -> Mapping[str, BackendConfig]:
        """Operation -> its backend."""
        return {
            "embedding": self.embedding,
            "attention": self.attention,
            "cross_entropy": self.cross_entropy,
        }

    def runs_as(self, use: Use) -> dict[str, str]:
        """Operation -> what computes it, as a run records it."""
        return {operation: backend.runs_as(use) for operation, backend in self.backends().items()}

    def build(self) -> Kernels:
        """The operations, as plain functions of tensors."""
        return Kernels(
            embedding=self.embedding.build(),
            attention=self.attention.build(),
            cross_entropy=self.cross_entropy.build(),
        )
