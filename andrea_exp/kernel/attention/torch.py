"""`attention` by torch's own scaled_dot_product_attention: the reference."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from typing_extensions import override

from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.backend import Use


@final
@dataclass(kw_only=True, frozen=True)
class TorchConfig(AttentionKernelConfig):
    """torch picks its kernel by shape and mask; an additive bias excludes the flash kernel."""

    @override
    def reasons(self, use: Use) -> list[str]:
        return []

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

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
