"""A pair of functions, losses and gradients, as an operator of torch."""

from typing import Any, Final, NamedTuple, Protocol

from jaxtyping import Float, Int64
from torch import Tensor
from torch.library import custom_op

from andrea_exp.kernel.cross_entropy.base import CrossEntropyOp
from andrea_exp.kernel.precision import as_autocast, exact

_GIVEN: Final = "Tensor features, Tensor weight, Tensor targets"


class Given(NamedTuple):
    """What the loss is computed from; features and weight have one dtype."""

    features: Float[Tensor, "R E"]
    weight: Float[Tensor, "V E"]
    targets: Int64[Tensor, " R"]


class Losses(Protocol):
    """The forward pass."""

    def __call__(self, given: Given) -> Float[Tensor, " R"]:
        """Loss of each target in nats, in the precision of `exact`."""
        ...


class Gradients(Protocol):
    """The backward pass."""

    def __call__(
        self, given: Given, upstream: Float[Tensor, " R"]
    ) -> tuple[Float[Tensor, "R E"], Float[Tensor, "V E"]]:
        """Those of features and weight, contiguous; `upstream` is the gradient of each loss."""
        ...


def operator(name: str, *, losses: Losses, gradients: Gradients) -> CrossEntropyOp:
    """The pair as `torch.ops.andrea_exp.<name>_cross_entropy`. A name can be used once.

    Under autocast, features and weight are cast first, as for a linear layer. There is no second
    derivative.
    """
    space = f"andrea_exp::{name}_cross_entropy"

    @custom_op(space, mutates_args=(), schema=f"({_GIVEN}) -> Tensor")
    def forward(*given: Tensor) -> Tensor:
        return losses(Given(*given))

    @custom_op(
        f"{space}_backward",
        mutates_args=(),
        schema=f"({_GIVEN}, Tensor upstream) -> (Tensor, Tensor)",
    )
    def backward(*tensors: Tensor) -> tuple[Tensor, Tensor]:
        *given, upstream = tensors
        return gradients(Given(*given), upstream)

    @forward.register_fake
    def _(features: Tensor, *_: Tensor) -> Tensor:
        return features.new_empty(len(features), dtype=exact(features.dtype))

    @backward.register_fake
    def _(features: Tensor, weight: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        return features.new_empty(features.shape), weight.new_empty(weight.shape)

    def save(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ARG001
        ctx.save_for_backward(*inputs)

    def differentiate(ctx: Any, upstream: Tensor) -> tuple[Tensor, Tensor, None]:
        return *backward(*ctx.saved_tensors, upstream), None

    forward.register_autograd(differentiate, setup_context=save)

    def apply(
        features: Float[Tensor, "R E"],
        weight: Float[Tensor, "V E"],
        targets: Int64[Tensor, " R"],
    ) -> Float[Tensor, " R"]:
        return forward(as_autocast(features), as_autocast(weight), targets)

    return apply
