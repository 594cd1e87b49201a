"""One call of an operation: what it is given, what its backward starts from, what it must move."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, final

import torch
from torch import Tensor

from andrea_exp.bench.agreement import OUTPUT

Kernel = Callable[..., Tensor]
"""What a backend's `build` gives: an operation of `andrea_exp.kernel`."""


class Load(NamedTuple):
    """What a pass has to do, whoever does it."""

    moved_bytes: int
    """Least traffic: every input read once, every result written once, nothing kept between."""
    flops: int | None
    """Of the matrix products; None where there are none."""

    def then(self, other: "Load") -> "Load":
        """Both, one after the other."""
        flops = None if self.flops is None or other.flops is None else self.flops + other.flops
        return Load(self.moved_bytes + other.moved_bytes, flops)


@final
@dataclass(kw_only=True, frozen=True)
class Example:
    """Inputs at some sizes. Those that train are leaves and require gradients."""

    given: Mapping[str, Tensor]
    """Floating-point inputs by name."""
    call: Callable[[Kernel, Mapping[str, Tensor]], Tensor]
    """Hands the inputs to an operation."""
    upstream: Tensor
    """Gradient of the output, of its shape and type."""
    autocast: bool
    """Whether products are computed in bfloat16, as training with that precision does."""
    forward_load: Load
    backward_load: Load

    @property
    def trained(self) -> dict[str, Tensor]:
        """The inputs whose gradients are asked for."""
        return {name: tensor for name, tensor in self.given.items() if tensor.requires_grad}

    @property
    def precision(self) -> torch.dtype:
        """Of the computation: autocast halves products, and leaves the rest as it is."""
        has_products = self.forward_load.flops is not None
        return torch.bfloat16 if self.autocast and has_products else self.upstream.dtype

    def forward(self, kernel: Kernel) -> Tensor:
        """The output, with the graph that a backward needs."""
        device = self.upstream.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.autocast):
            return self.call(kernel, self.given)

    def forward_backward(self, kernel: Kernel) -> tuple[Tensor, ...]:
        """The output, and the gradients in the order of `trained`."""
        output = self.forward(kernel)
        return output, *torch.autograd.grad(output, [*self.trained.values()], self.upstream)

    def results(self, kernel: Kernel) -> dict[str, Tensor]:
        """The same by name."""
        names = (OUTPUT, *(f"gradient of {name}" for name in self.trained))
        found = self.forward_backward(kernel)
        return {name: each.detach() for name, each in zip(names, found, strict=True)}

    def exact(self) -> "Example":
        """The same numbers in float64."""
        given = {
            name: tensor.detach().double().requires_grad_(tensor.requires_grad)
            for name, tensor in self.given.items()
        }
        return replace(self, given=given, upstream=self.upstream.double(), autocast=False)


def size_bytes(*tensors: Tensor | None) -> int:
    """Memory of the elements of these tensors."""
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def noise(
    shape: tuple[int, ...],
    generator: torch.Generator,
    *,
    device: torch.device,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Standard normal numbers, drawn on the CPU so that every device gets the same."""
    return torch.randn(*shape, generator=generator).to(device=device, dtype=dtype)
