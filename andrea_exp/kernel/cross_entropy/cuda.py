"""`cross_entropy` by our own kernels in CUDA C++, a chunk of tokens at a time."""

import functools
from dataclasses import dataclass, field
from typing import final

from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.kernel import cuda_machine
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import in_chunks


@final
@dataclass(kw_only=True, frozen=True)
class CudaConfig(CrossEntropyKernelConfig):
    """torch's matrix products; one kernel for losses and one for the gradient of the logits."""

    rows: int | None = field(metadata=at_least(1))
    """Tokens at a time; null takes as many as have logits no larger than features or weight."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return cuda_machine.reasons(use)

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> CrossEntropyOp:
        return _operation(self.rows)


@functools.cache
def _operation(rows: int | None) -> CrossEntropyOp:
    # cuda-core need not be installed where another backend is chosen.
    from andrea_exp.kernel.cross_entropy.cuda_kernels import SOURCE, row_kernels  # noqa: PLC0415
    from andrea_exp.kernel.cuda_program import Program  # noqa: PLC0415

    return in_chunks("cuda", row_kernels(Program(SOURCE)), rows=rows)
