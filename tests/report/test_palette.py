"""Distances are in OKLab (Ottosson 2020) times 100; deficiencies after Machado et al. 2009."""

from itertools import combinations

import numpy as np
import pytest

from andrea_exp.report.palette import GROUND, SERIES, TEXT, styles

SIGHT = {
    "full": np.eye(3),
    "protan": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deutan": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritan": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
LMS = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def distance(first: str, second: str, *, sight: np.ndarray) -> float:
    a, b = (
        LAB @ np.cbrt(LMS @ np.clip(sight @ linear(colour), 0, 1)) for colour in (first, second)
    )
    return float(100 * np.linalg.norm(a - b))


def contrast(first: str, second: str) -> float:
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_colours_stay_apart(sight: str) -> None:
    for theme in ("light", "dark"):
        colours = [getattr(ink, theme) for ink in SERIES]
        assert min(distance(*pair, sight=SIGHT[sight]) for pair in combinations(colours, 2)) > 10


def test_red_and_green_of_a_common_palette_would_be_caught() -> None:
    assert distance("#d62728", "#6f6f1c", sight=SIGHT["deutan"]) < 10


def test_colours_stand_out_from_their_ground() -> None:
    assert all(contrast(ink.light, GROUND.light) >= 3 for ink in SERIES)
    assert all(contrast(ink.dark, GROUND.dark) >= 3 for ink in SERIES)
    assert contrast(TEXT.light, GROUND.light) > 7
    assert contrast(TEXT.dark, GROUND.dark) > 7


def test_a_scheme_has_one_colour_whatever_else_varies() -> None:
    found = styles(hues=["b", "a", "b"], dashes=["y", "x"])
    assert found["a", "x"].ink == found["a", "y"].ink != found["b", "x"].ink
    assert found["a", "x"].dash != found["a", "y"].dash
    assert found["a", "x"].dash == found["b", "x"].dash


def test_order_of_the_runs_does_not_matter() -> None:
    first = styles(hues=["c", "a", "b"], dashes=["x"])
    assert first == styles(hues=["b", "c", "a", "a"], dashes=["x", "x"])


def test_colour_and_marker_together_tell_56_schemes_apart() -> None:
    found = styles(hues=[f"{index:02}" for index in range(56)], dashes=["x"])
    assert len({(style.ink, style.marker) for style in found.values()}) == 56
