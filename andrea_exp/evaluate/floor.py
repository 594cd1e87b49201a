"""The least loss that any model could have on the targets that are scored, where data know it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float64, Integer
from torch import Tensor

from andrea_exp.data.base import Data
from andrea_exp.evaluate.protocol import Window


class Floor(NamedTuple):
    """The best possible predictor of a validation text, shown the windows that a model is shown."""

    data: Data
    tokens: Integer[np.ndarray, " N"]
    """The validation text, which windows index."""

    def nats(self, windows: Sequence[Window]) -> Float64[Tensor, " n"] | None:
        """Its loss on each scored target, in the order of the windows; None if data cannot tell.

        A policy past the trained length that hides a part of a window from the model does not hide
        it here: the floor is that of the window.
        """
        groups: dict[int, list[int]] = {}
        for number, window in enumerate(windows):
            groups.setdefault(window.stop - window.start, []).append(number)
        found: dict[int, np.ndarray] = {}
        for size, members in groups.items():
            starts = np.array([windows[number].start for number in members])
            ids = self.tokens[starts[:, None] + np.arange(size + 1)].astype(np.int64)
            losses = self.data.optimal_nats(ids)
            if losses is None:
                return None
            found.update(zip(members, losses, strict=True))
        scored = [found[i][window.first - window.start :] for i, window in enumerate(windows)]
        return torch.from_numpy(np.concatenate(scored))
