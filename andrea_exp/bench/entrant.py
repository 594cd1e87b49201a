"""One backend on its way through a comparison: asked, built, checked, tried."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar, final

import torch

from andrea_exp.bench.check import Checked, Truth
from andrea_exp.bench.example import Example, Kernel
from andrea_exp.bench.memory import peak_bytes
from andrea_exp.bench.task import Task
from andrea_exp.kernel.backend import BackendConfig
from andrea_exp.record.bench import Agreement, Outcome

T = TypeVar("T")


class Trial(NamedTuple):
    """What one or two calls tell."""

    bits_repeat: bool
    """Whether a second run gave the same output and gradients, bit for bit."""
    forward_peak_bytes: int
    both_peak_bytes: int
    """Of forward and backward in one go."""


@final
class Entrant:
    """A backend of one task. Whatever stops it, the others go on."""

    def __init__(self, task: Task, backend: BackendConfig, *, name: str) -> None:
        self.name = name
        self.reasons = backend.reasons(task.use)
        """Why it was stopped."""
        self.outcome = Outcome.cannot if self.reasons else Outcome.timed
        self.runs_as = None if self.reasons else backend.runs_as(task.use)
        self.trial: Trial | None = None
        self._use = task.use
        self._backend = backend
        self._kernel = self._attempt(self._build) if self.going else None
        self._checked: list[Checked] = []

    @property
    def going(self) -> bool:
        """Whether nothing has stopped it so far."""
        return self.outcome is Outcome.timed

    @property
    def kernel(self) -> Kernel:
        """The operation, of one that goes on."""
        assert self._kernel is not None
        return self._kernel

    @property
    def agreement(self) -> Agreement | None:
        """The result that was off the most, in units of its limit."""
        if not self._checked:
            return None
        deviation, use = max(self._checked, key=lambda each: each.deviation.share)
        return Agreement(
            result=deviation.result,
            error=deviation.finite_error,
            limit=deviation.limit,
            sequences=use.batch,
            tokens=use.length,
        )

    def check(self, truth: Truth) -> None:
        """Compare it with the truth, if it serves these sizes."""
        if self.going and not self._backend.reasons(truth.use):
            self._checked += self._attempt(lambda: truth.check(self.kernel)) or []

    def judge(self) -> None:
        """Stop it if a result was off by more than its limit, or none could be looked at."""
        wrong = [each.deviation for each in self._checked if not each.deviation.allowed]
        if self.going and wrong:
            worst = max(wrong, key=lambda each: each.share)
            self._stop(Outcome.differs, str(worst))
        elif self.going and not self._checked:
            self._stop(Outcome.failed, "it serves none of the sizes at which backends are checked")

    def try_out(self, example: Example) -> None:
        """Run it before it is timed, at the same sizes."""
        if self.going:
            self.trial = self._attempt(lambda: _trial(example, self.kernel))

    def _build(self) -> Kernel:
        kernel = self._backend.build()
        return torch.compile(kernel, dynamic=False) if self._use.compiled else kernel

    def _attempt(self, step: Callable[[], T]) -> T | None:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - whatever it raises, the others go on
            lines = str(error).strip().splitlines() or ["without a message"]
            self._stop(Outcome.failed, f"{type(error).__name__}: {lines[0]}")
            return None

    def _stop(self, outcome: Outcome, reason: str) -> None:
        self.outcome, self.reasons = outcome, [reason]


def _trial(example: Example, kernel: Kernel) -> Trial:
    device = example.upstream.device
    return Trial(
        bits_repeat=_bits_repeat(example, kernel),
        forward_peak_bytes=peak_bytes(lambda: example.forward(kernel), device),
        both_peak_bytes=peak_bytes(lambda: example.forward_backward(kernel), device),
    )


def _bits_repeat(example: Example, kernel: Kernel) -> bool:
    torch.manual_seed(0)  # of dropout
    first = example.forward_backward(kernel)
    torch.manual_seed(0)
    second = example.forward_backward(kernel)
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
