"""Backends that tests make up, beside the reference."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from torch import Tensor
from typing_extensions import override

import andrea_exp
from andrea_exp.bench.clock import Clock, CpuClock
from andrea_exp.bench.compositions import Composition, asked
from andrea_exp.bench.measure import Gauge
from andrea_exp.bench.task import Asked
from andrea_exp.kernel.backend import BackendConfig, Use

TINY = (
    *("data=noise", "data.vocab=37", "data.batch_size=3"),
    *("model.d_model=12", "model.num_heads=3", "model.context=10"),
)
"""Pairwise different sizes: B 3, T 10, D 12, N 3 of 4 features, V 37."""


@final
@dataclass(kw_only=True, frozen=True)
class GivenConfig(BackendConfig):
    """A backend that is any function."""

    kernel: Callable[..., Tensor]
    refuses: Callable[[Use], list[str]]

    @override
    def reasons(self, use: Use) -> list[str]:
        return self.refuses(use)

    @override
    def runs_as(self, use: Use) -> str:
        return "given (by a test)"

    @override
    def build(self) -> Callable[..., Tensor]:
        return self.kernel


def serves_all(_use: Use) -> list[str]:
    return []


def given(
    kernel: Callable[..., Tensor], *, refuses: Callable[[Use], list[str]] = serves_all
) -> GivenConfig:
    return GivenConfig(name="given", kernel=kernel, refuses=refuses)


def tiny(*words: str) -> Asked:
    """What a small composition asks for."""
    run = andrea_exp.compose(*TINY, *words)
    return asked(Composition(label="", run=run, use=run.use()))


def gauge(clock: Clock | None = None) -> Gauge:
    return Gauge(clock=clock or CpuClock(), copy_gb_per_s=10.0, product_tflop_per_s=0.1)
