"""The panel of random tables at three shapes, against printed means of some draws.

A printed mean is that of 20 draws (2 at 1024 x 768), so a single draw lies within four of its own
standard deviations of it, plus half a unit of the last printed digit. The deviation is taken from
the draws of this test.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.panel import panel
from tests.evaluate.test_panel import COLUMNS, curve

PRINTED = {
    (64, 128): {
        "iid": "0.00 -0.02 1.42 2.45 1.73 49 50 0.53",
        "shuffled": "0.64 -0.01 0.84 1.45 1.74 13.7 17 0.52",
        "walk": "0.97 0.94 0.18 0.26 1.41 4.5 10 0.03",
    },
    (256, 128): {
        "iid": "0.00 0.00 1.41 2.45 1.73 99 100 0.51",
        "shuffled": "0.49 0.00 1.00 1.74 1.73 27.7 35 0.51",
        "walk": "0.99 0.99 0.09 0.13 1.41 4.8 11 0.008",
    },
    (1024, 768): {
        "iid": "0.00 0.00 1.41 2.45 1.73 527 530 0.50",
        "shuffled": "0.35 0.00 1.14 1.97 1.73 84 164 0.50",
        "walk": "1.00 1.00 0.05 0.07 1.41 5.2 12 0.002",
    },
}
"""In the order of COLUMNS."""
DRAWS = {(64, 128): 20, (256, 128): 12, (1024, 768): 4}


def draw(kind: str, shape: tuple[int, int], generator: torch.Generator) -> Tensor:
    if kind == "shuffled":
        return curve(*shape)[torch.randperm(shape[0], generator=generator)]
    steps = torch.randn(shape, dtype=torch.float64, generator=generator)
    return steps if kind == "iid" else steps.cumsum(dim=0)


def measured(kind: str, shape: tuple[int, int]) -> np.ndarray:
    """One row per draw, one column per measure."""
    generator = torch.Generator().manual_seed(5)
    panels = [panel(draw(kind, shape, generator)) for _ in range(DRAWS[shape])]
    return np.array([[getattr(found, name) for name in COLUMNS] for found in panels])


def is_as_printed(draws: np.ndarray, printed: str) -> bool:
    values = np.array([float(text) for text in printed.split()])
    decimals = np.array([len(text.partition(".")[2]) for text in printed.split()])
    allowed = 4 * draws.std(axis=0, ddof=1) + 0.5 * 10.0**-decimals + 1e-9
    return bool((np.abs(draws - values) <= allowed).all())


@pytest.mark.parametrize("kind", ["iid", "shuffled", "walk"])
@pytest.mark.parametrize(
    "shape", [(64, 128), (256, 128), pytest.param((1024, 768), marks=pytest.mark.slow)]
)
def test_every_draw_is_within_four_deviations_of_the_printed_mean(
    shape: tuple[int, int], kind: str
):
    assert is_as_printed(measured(kind, shape), PRINTED[shape][kind])


@pytest.mark.parametrize("shape", [(64, 128), (256, 128)])
def test_saboteur_no_kind_passes_for_another(shape: tuple[int, int]):
    for kind in PRINTED[shape]:
        draws = measured(kind, shape)
        others = [printed for name, printed in PRINTED[shape].items() if name != kind]
        assert not any(is_as_printed(draws, printed) for printed in others)
