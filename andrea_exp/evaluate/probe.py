"""A few measures of a model while it trains, which leave the training as it is, bit for bit."""

from typing import final

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor

from andrea_exp.evaluate.config import EvaluationConfig
from andrea_exp.evaluate.cosine import centred, mean_cosine, unit
from andrea_exp.evaluate.panel import d2_over_d1, effective_rank
from andrea_exp.evaluate.score import score
from andrea_exp.evaluate.segments import sample
from andrea_exp.model.decoder import Decoder


@final
class Probe:
    """Validation loss on a small fixed part of the text, and the smoothness of trained rows.

    It draws nothing from any random stream, takes no gradient, and measures in the precision of
    the evaluation after training, whatever that of the training.
    """

    def __init__(
        self,
        model: Decoder,
        validation: Integer[np.ndarray, " N"],
        *,
        config: EvaluationConfig,
    ) -> None:
        """Choose the targets, evenly spread over the text.

        Raises:
            ValueError: the text has no window of T and its last target.
        """
        context = model.sizes.context
        chosen = sample(len(validation), longest=context, targets=config.probe_targets)
        self._model = model
        self._tokens = torch.from_numpy(validation)
        self._windows = chosen.windows(length=context, stride=context)
        self._batch_tokens = config.batch_tokens
        self._every_steps = config.probe_every_steps

    def due(self, step: int) -> bool:
        """Whether the model is measured after this step, counted from 1."""
        return self._every_steps is not None and step % self._every_steps == 0

    def __call__(self) -> dict[str, float]:
        """The columns of one step; a measure that is not defined has none."""
        device = self._model.embedding.token_rows().device
        with torch.autocast(device.type, enabled=False):
            columns = {**self._of_rows(), "val_loss_nats": self._loss()}
        return {name: value for name, value in columns.items() if value is not None}

    def _loss(self) -> float:
        scores = score(
            self._model,
            self._tokens,
            self._windows,
            length=self._model.sizes.context,
            beyond=None,
            batch_tokens=self._batch_tokens,
        )
        return float(scores.nats.double().mean())

    def _of_rows(self) -> dict[str, float | None]:
        """Of rows 0..T-1; nothing for fixed rows, which stay what they are."""
        table = self._model.position.table()
        if table is None or not table.requires_grad:
            return {}
        return headline(table[: self._model.sizes.context])


def headline(rows: Float[Tensor, "M D"]) -> dict[str, float | None]:
    """The measures of the panel that are followed along the training, by its names."""
    exact = rows.detach().double().cpu()
    if len(exact) < 3 or not exact.isfinite().all():
        return {}
    return {
        "adjacent_cosine": mean_cosine(unit(exact), lag=1),
        "centred_adjacent_cosine": mean_cosine(unit(centred(exact)), lag=1),
        "d2_over_d1": d2_over_d1(exact),
        "effective_rank": effective_rank(exact),
    }
