"""`attention` by torch's own scaled_dot_product_attention: the reference."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.backend import Use

_FUSED: Final = re.compile(r"scaled_dot_product_(flash|efficient|cudnn|fused)_attention")
"""What torch calls its fused kernels, with something behind it that says for which device."""


@final
@dataclass(kw_only=True, frozen=True)
class TorchConfig(AttentionKernelConfig):
    """torch picks one of its kernels by device, sizes, precision, bias and dropout.

    A run records which: `flash`, `efficient`, `cudnn`, `fused` (of a device that brings its own) or
    `math`, where scores and weights are stored. It is that of training: evaluation drops no weights
    and takes no gradients, for which torch may pick another.
    """

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        kernel = _picked(use)
        return f"{self.name} ({kernel})" if kernel else self.name

    @override
    def build(self) -> AttentionOp:
        return attend


def attend(
    query: Float[Tensor, "B N T H"],
    key: Float[Tensor, "B N T H"],
    value: Float[Tensor, "B N T H"],
    *,
    bias: Float[Tensor, "N T T"] | None,
    causal: bool,
    dropout: float,
) -> Float[Tensor, "B N T H"]:
    """Attention; a bias and the causal mask are joined into one additive mask."""
    if bias is None:
        return F.scaled_dot_product_attention(
            query, key, value, is_causal=causal, dropout_p=dropout
        )
    mask = bias.to(query.dtype)
    if causal:
        future = torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).triu(1)
        mask = mask.masked_fill(future, float("-inf"))
    # The batch axis is written out: the CPU's fused kernel does not broadcast three axes.
    return F.scaled_dot_product_attention(
        query, key, value, attn_mask=mask[None], dropout_p=dropout
    )


def _picked(use: Use) -> str | None:
    """Which kernel torch picks for this use, or None if it does not tell.

    `attend` is called as a model calls it, on tensors that have no memory.
    """
    shape = (use.batch, use.length, 3, use.heads, use.width // use.heads)

    def called() -> None:
        qkv = torch.empty(shape, dtype=use.dtype, device=use.device, requires_grad=True)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        square = (use.heads, use.length, use.length)
        bias = torch.empty(square, device=use.device, requires_grad=use.bias_learned)
        attend(
            query,
            key,
            value,
            bias=bias if use.biased else None,
            causal=use.causal,
            dropout=use.dropout,
        )

    operators = _dispatched(called)
    fused = [found[1] for name in operators if (found := _FUSED.search(name))]
    if fused:
        return fused[0]
    return "math" if any("softmax" in name for name in operators) else None


def _dispatched(call: Callable[[], None]) -> list[str]:
    """Names of the operators to which torch comes down, without computing; none if it cannot tell.

    Not all of this is a promise of torch's: where it has changed, a run goes on without.
    """
    try:
        from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415
        from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415
    except ImportError:
        return []
    names: list[str] = []

    class Watch(TorchDispatchMode):
        @override
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    with torch.enable_grad(), FakeTensorMode(), Watch():
        call()
    return names
