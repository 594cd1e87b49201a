"""A few optimizer steps of a small model on given ids, and what they left of its tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from andrea_exp.lesson import parts
from andrea_exp.model.decoder import Decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.optimizer.groups import parameter_groups


@final
@dataclass(kw_only=True, frozen=True)
class Steps:
    """Tables before the first step, after each, and the gradients of the last one."""

    token_rows: Sequence[Tensor]
    """(V, D): initial, then after every step."""
    token_gradient: Tensor
    first_position_rows: Tensor
    position_rows: Tensor
    position_gradient: Tensor


def trained(
    *words: str,
    optimizer: str,
    decay: float,
    batches: Sequence[Tensor],
    momentum: float | None = None,
    rates: Sequence[float] | None = None,
) -> Steps:
    """Train the small model with learned positions; every target is the next id of its row.

    Args:
        words: changes of the model, as on the command line.
        optimizer: an option of that group.
        decay: its weight decay, of position rows too.
        batches: ids (B, T), one per step.
        momentum: of the optimizer that has one.
        rates: learning rates; by default .01 in each step.
    """
    model = parts.changed(parts.composed(*parts.SMALL, *words), position=None).build_model()
    config = _optimizer(optimizer, decay=decay, momentum=momentum)
    return _walk(model, config, batches=batches, rates=rates or [0.01] * len(batches))


def _optimizer(option: str, *, decay: float, momentum: float | None) -> OptimizerConfig:
    words = [f"optimizer={option}"]
    words += [] if momentum is None else [f"optimizer.momentum={momentum}"]
    config = parts.composed(*words).recipe.optimizer
    return replace(config, weight_decay=decay, decay_positions=True)


def _walk(
    model: Decoder, config: OptimizerConfig, *, batches: Sequence[Tensor], rates: Sequence[float]
) -> Steps:
    tokens, places = model.embedding.token_rows(), model.position.table()
    assert places is not None
    steps = config.build(parameter_groups(model))
    first = places.detach().clone()
    copies = [tokens.detach().clone()]
    for ids, rate in zip(batches, rates, strict=True):
        for group in steps.param_groups:
            group["lr"] = rate
        steps.zero_grad()
        model.losses(ids, ids.roll(-1, dims=1)).mean().backward()
        steps.step()
        copies.append(tokens.detach().clone())
    return Steps(
        token_rows=copies,
        token_gradient=_gradient(tokens),
        first_position_rows=first,
        position_rows=places.detach().clone(),
        position_gradient=_gradient(places),
    )


def _gradient(tensor: Tensor) -> Tensor:
    return torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.clone()
