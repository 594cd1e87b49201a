"""`cross_entropy` in plain torch, a chunk of tokens at a time: without materialised logits."""

import functools
from dataclasses import dataclass, field
from typing import final

from typing_extensions import override

from andrea_exp.component import at_least
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig, CrossEntropyOp
from andrea_exp.kernel.cross_entropy.chunks import in_chunks
from andrea_exp.kernel.cross_entropy.torch_rows import ROWS


@final
@dataclass(kw_only=True, frozen=True)
class ChunkedConfig(CrossEntropyKernelConfig):
    """Less memory than `torch`, and one matrix product more; runs everywhere."""

    rows: int | None = field(metadata=at_least(1))
    """Tokens at a time; null takes as many as have logits no larger than features or weight."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> CrossEntropyOp:
        return _operation(self.rows)


@functools.cache
def _operation(rows: int | None) -> CrossEntropyOp:
    return in_chunks("chunked", ROWS, rows=rows)
