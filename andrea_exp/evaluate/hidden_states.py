"""The mean hidden state at each position, layer by layer: what a scheme makes of position.

It is the one measure of smoothness that schemes without a table have too. States are averaged over
windows of T tokens that lie evenly over the validation text, so that what the texts say averages
out and what the position does stays. Sums run in float64, one batch at a time.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int64, Integer
from torch import Tensor

from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.input_norms import InputNorms, InputScale, input_norms, input_scale
from andrea_exp.evaluate.panel import panel
from andrea_exp.evaluate.segments import spread
from andrea_exp.model.decoder import Decoder

# Below this share of the mean square, a variance is rounding.
_ROUNDING = 1e-12


@dataclass(kw_only=True, frozen=True)
class HiddenLayer:
    """The states at one place of the model; the first five as the panel defines them."""

    layer: str
    """`embedding`: what enters the first block; `block k`: what leaves it; `head`: what is
    scored."""
    adjacent_cosine: float | None
    """Mean cosine of the mean states of neighbouring positions."""
    centred_adjacent_cosine: float | None
    """The same of mean states minus their mean."""
    d2_over_d1: float | None
    effective_rank: float | None
    position_share: float | None
    """Variance of the mean states between positions, as a share of the variance of all states."""
    noise_share: float | None
    """Variance between positions that means over so few windows have by chance, taken as
    independent, over the one that was found: near 1, this record describes noise."""
    offset: list[float]
    """Distance of each position's mean state from the mean of all, in units of the root mean
    square of the states' own distances from it; empty if all states are equal."""


@dataclass(kw_only=True, frozen=True)
class HiddenMean:
    """All layers, and the scale of what is added at the input."""

    windows: int
    """Windows that the means are over."""
    layers: list[HiddenLayer]
    input_init: InputScale
    input_trained: InputScale


def hidden_mean(
    model: Decoder,
    validation: Integer[np.ndarray, " N"],
    *,
    config: EvaluationConfig,
    init: InputNorms,
) -> HiddenMean:
    """Average the states of a trained model; its mode is left as it was.

    Args:
        model: after training.
        validation: the text; at least T + 1 tokens.
        config: how many windows, and how many tokens at once.
        init: `input_norms` of the model before training.
    """
    context = model.sizes.context
    starts = spread(len(validation) - 1, size=context, count=config.hidden_windows)
    places = torch.tensor(starts)[:, None] + torch.arange(context)
    tokens = torch.from_numpy(validation)
    times = torch.zeros(model.sizes.vocab, dtype=torch.int64)
    layers: list[Moments] = []
    training = model.training
    model.eval()
    try:
        for part in places.split(max(1, config.batch_tokens // context)):
            ids = tokens[part].long()
            times += ids.flatten().bincount(minlength=len(times))
            states = _states(model, ids)
            layers = layers or [Moments(like=state) for state in states]
            for layer, state in zip(layers, states, strict=True):
                layer.add(state)
    finally:
        model.train(training)
    return HiddenMean(
        windows=len(starts),
        layers=[layer.record(name) for name, layer in zip(_names(model), layers, strict=True)],
        input_init=input_scale(init, times=times),
        input_trained=input_scale(input_norms(model), times=times),
    )


@final
class Moments:
    """Running sums of states (W, T, D) over their windows W."""

    def __init__(self, *, like: Float[Tensor, "B T D"]) -> None:
        """Nothing summed yet; `like` has the shape, W aside, and the device."""
        self._count = 0
        self._sum = torch.zeros_like(like[0], dtype=torch.float64)
        self._squares = torch.zeros((), dtype=torch.float64, device=like.device)

    def add(self, states: Float[Tensor, "B T D"]) -> None:
        """Count further windows."""
        self._count += len(states)
        exact = states.double()
        self._sum += exact.sum(dim=0)
        self._squares += exact.flatten().dot(exact.flatten())

    def record(self, layer: str) -> HiddenLayer:
        """What the sums say."""
        means = (self._sum / self._count).cpu()
        middle = means.mean(dim=0)
        distances = (means - middle).norm(dim=1)
        square = float(self._squares) / (self._count * len(means))
        total = square - float(middle.square().sum())
        varied = total > _ROUNDING * square
        between = float(distances.square().mean())
        smooth = panel(means)
        return HiddenLayer(
            layer=layer,
            adjacent_cosine=smooth.adjacent_cosine,
            centred_adjacent_cosine=smooth.centred_adjacent_cosine,
            d2_over_d1=smooth.d2_over_d1,
            effective_rank=smooth.effective_rank,
            position_share=between / total if varied else None,
            noise_share=self._noise(between, within=total - between) if varied else None,
            offset=(distances / total**0.5).tolist() if varied else [],
        )

    def _noise(self, between: float, *, within: float) -> float | None:
        """Expected variance between the means of positions that do not differ, over what it is."""
        if self._count < 2 or between <= 0:
            return None
        positions = len(self._sum)
        return within / (self._count - 1) * (positions - 1) / positions / between


@torch.inference_mode()
def _states(model: Decoder, ids: Int64[Tensor, "B T"]) -> list[Float[Tensor, "B T D"]]:
    return model.states(ids.to(model.embedding.token_rows().device))


def _names(model: Decoder) -> list[str]:
    return ["embedding", *(f"block {index + 1}" for index in range(len(model.blocks))), "head"]
