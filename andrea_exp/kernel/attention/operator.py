"""A pair of functions, forward and backward, as an operator that torch can trace and derive."""

from typing import Any, Final, NamedTuple, Protocol

from jaxtyping import Float
from torch import Tensor
from torch.library import custom_op

from andrea_exp.kernel.attention.base import AttentionOp
from andrea_exp.kernel.precision import as_autocast, exact

_GIVEN: Final = "Tensor query, Tensor key, Tensor value, Tensor? bias"
_LEFT: Final = "Tensor output, Tensor lse"


class Given(NamedTuple):
    """What attention is computed from."""

    query: Float[Tensor, "B N T H"]
    key: Float[Tensor, "B N T H"]
    value: Float[Tensor, "B N T H"]
    bias: Float[Tensor, "N T T"] | None


class Left(NamedTuple):
    """What the forward pass leaves for the backward pass."""

    output: Float[Tensor, "B N T H"]
    lse: Float[Tensor, "B N T"]
    """Logarithm of each query's sum of weights, to a base on which the two functions agree."""


class Forward(Protocol):
    """Attention without dropout."""

    def __call__(self, given: Given, *, causal: bool) -> Left:
        """The output, in memory of `empty`."""
        ...


class Backward(Protocol):
    """Its gradients."""

    def __call__(
        self,
        given: Given,
        left: Left,
        upstream: Float[Tensor, "B N T H"],
        *,
        causal: bool,
        of_bias: bool,
    ) -> list[Tensor]:
        """Of query, key, value and, if `of_bias`, of the bias, in memory of `empty_gradients`.

        `upstream` is the gradient of the output.
        """
        ...


def operator(name: str, *, forward: Forward, backward: Backward) -> AttentionOp:
    """The pair as `torch.ops.andrea_exp.<name>_attention`. A name can be used once.

    As by torch, autocast makes the vectors narrow; a bias keeps its precision, and its gradient is
    computed only where it is asked for. There is no second derivative.
    """
    space = f"andrea_exp::{name}_attention"

    def run(*given: Any, causal: bool) -> Left:
        return forward(Given(*given), causal=causal)

    def fake(query: Tensor, *_: Any, causal: bool) -> Left:  # noqa: ARG001 - the operator's own
        return empty(query)

    def gradients(*tensors: Any, causal: bool, of_bias: bool) -> list[Tensor]:
        *given, output, lse, upstream = tensors
        left = Left(output, lse)
        return backward(Given(*given), left, upstream, causal=causal, of_bias=of_bias)

    def fake_gradients(*tensors: Any, causal: bool, of_bias: bool) -> list[Tensor]:  # noqa: ARG001
        return empty_gradients(Given(*tensors[:4]), of_bias=of_bias)

    forward_operator = custom_op(
        space, run, mutates_args=(), schema=f"({_GIVEN}, *, bool causal) -> (Tensor, Tensor)"
    )
    forward_operator.register_fake(fake)
    backward_operator = custom_op(
        f"{space}_backward",
        gradients,
        mutates_args=(),
        schema=f"({_GIVEN}, {_LEFT}, Tensor upstream, *, bool causal, bool of_bias) -> Tensor[]",
    )
    backward_operator.register_fake(fake_gradients)

    def remember(  # noqa: PLR0917 - torch calls it so
        ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, bool], output: Left
    ) -> None:
        ctx.save_for_backward(*inputs, *output)
        ctx.causal = keyword_only_inputs["causal"]

    def derive(ctx: Any, upstream: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        of_bias = ctx.needs_input_grad[3]
        found = backward_operator(*ctx.saved_tensors, upstream, causal=ctx.causal, of_bias=of_bias)
        return (*found, None)[:4]

    forward_operator.register_autograd(derive, setup_context=remember)

    def attend(
        query: Float[Tensor, "B N T H"],
        key: Float[Tensor, "B N T H"],
        value: Float[Tensor, "B N T H"],
        *,
        bias: Float[Tensor, "N T T"] | None,
        causal: bool,
        dropout: float,
    ) -> Float[Tensor, "B N T H"]:
        if dropout:
            raise ValueError(f"kernel/attention={name} drops no weights; dropout is {dropout}")
        vectors = [as_autocast(tensor) for tensor in (query, key, value)]
        return forward_operator(*vectors, bias, causal=causal)[0]

    return attend


def empty(query: Float[Tensor, "B N T H"]) -> Left:
    """Memory for what forward leaves; `lse` is float32, or float64 where the queries are."""
    lse = query.new_empty(query.shape[:3], dtype=exact(query.dtype))
    return Left(output=_empty_vectors(query), lse=lse)


def empty_gradients(given: Given, *, of_bias: bool) -> list[Tensor]:
    """Memory for the gradients."""
    vectors = [_empty_vectors(tensor) for tensor in given[:3]]
    if given.bias is None or not of_bias:
        return vectors
    return [*vectors, given.bias.new_empty(given.bias.shape)]


def _empty_vectors(like: Float[Tensor, "B N T H"]) -> Float[Tensor, "B N T H"]:
    """In the order (B, T, N, H), since a model joins the heads of each token."""
    return like.new_empty(like.transpose(1, 2).shape).transpose(1, 2)
