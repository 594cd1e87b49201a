"""`cross_entropy` by our own Triton kernels, a chunk of tokens at a time."""

import functools
from dataclasses import dataclass, field
from typing import final

from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.kernel import triton_machine
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import in_chunks


@final
@dataclass(kw_only=True, frozen=True)
class TritonConfig(CrossEntropyKernelConfig):
    """torch's matrix products; one kernel for losses and one for the gradient of the logits."""

    rows: int | None = field(metadata=at_least(1))
    """Tokens at a time; null takes as many as have logits no larger than features or weight."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return triton_machine.reasons(use)

    @override
    def runs_as(self, use: Use) -> str:
        return triton_machine.label(self.name)

    @override
    def build(self) -> CrossEntropyOp:
        return _operation(self.rows)


@functools.cache
def _operation(rows: int | None) -> CrossEntropyOp:
    # Triton need not be installed where another backend is chosen.
    from andrea_exp.kernel.cross_entropy.triton_kernels import ROWS  # noqa: PLC0415

    return in_chunks("triton", ROWS, rows=rows)
