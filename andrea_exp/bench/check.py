"""What the results of a backend are compared with, at sizes where the truth is quickly had."""

import math
from collections.abc import Mapping
from typing import NamedTuple, final

import torch
from torch import Tensor

from andrea_exp.bench.agreement import Deviation, deviations, shares
from andrea_exp.bench.example import Example, Kernel
from andrea_exp.bench.task import Task
from andrea_exp.kernel.backend import Use


class Checked(NamedTuple):
    """How far one result of a backend was from the truth, and at which sizes."""

    deviation: Deviation
    use: Use


@final
class Truth:
    """The reference's results for one example, in its own precision and in float64.

    Args:
        task: that makes the example.
        use: its sizes.
        reference: the operation.
        larger: the truth at larger sizes, if that is known.
    """

    def __init__(self, task: Task, use: Use, *, reference: Kernel, larger: "Truth | None") -> None:
        self.use = use
        self._example = task.example(use)
        self._reference = self._example.results(reference)
        self._true = self._example.exact().results(reference)
        self._elsewhere: Mapping[str, float] = larger.shares if larger else {}
        own = shares(self._reference, self._true)
        self.shares = {name: max(own[name], self._elsewhere.get(name, 0.0)) for name in own}
        """What the reference is off at most, here or at larger sizes, in units of the scale."""

    def check(self, kernel: Kernel) -> list[Checked]:
        """Every result of a backend beside it, and the inputs that the backend has changed."""
        given = self._example.given
        before = {name: tensor.detach().clone() for name, tensor in given.items()}
        found = deviations(
            self._example.results(kernel),
            self._reference,
            self._true,
            precision=self._example.precision,
            elsewhere=self._elsewhere,
        )
        return [Checked(each, self.use) for each in found + _changed(self._example, before)]


@torch.no_grad()
def _changed(example: Example, before: Mapping[str, Tensor]) -> list[Deviation]:
    """Inputs that were written into; they are put right for the next backend."""
    given = example.given
    changed = [name for name, tensor in given.items() if not torch.equal(tensor, before[name])]
    for name in changed:
        given[name].copy_(before[name])
    return [
        Deviation(result=f"{name}, an input that it changes", error=math.inf, limit=0.0)
        for name in changed
    ]
