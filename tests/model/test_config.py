"""How a decoder's sizes must fit together."""

import pytest

from andrea_exp.model.config import Residual
from tests import options


@pytest.mark.parametrize(
    ("d_model", "ratio", "width"), [(12, 4.0, 48), (128, 2.6875, 344), (10, 1.1, 11)]
)
def test_the_feed_forward_width_is_the_ratio_times_the_width(
    d_model: int, ratio: float, width: int
):
    config = options.model(d_model=d_model, num_heads=2, feedforward={"ratio": ratio})
    assert config.feedforward_width == width


@pytest.mark.parametrize(("ratio", "wanted"), [(2.6, "31.2"), (1e-9, "1.2e-08"), (0.01, "0.12")])
def test_a_ratio_that_gives_no_whole_width_is_refused(ratio: float, wanted: str):
    with pytest.raises(ValueError, match=f"of d_model=12 is {wanted} features"):
        options.model(feedforward={"ratio": ratio})


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="num_heads=5 does not divide d_model=12"):
        options.model(num_heads=5)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"context": 0}, "context must be at least 1, got 0"),
        ({"num_layers": -1}, "num_layers must be at least 0 and at most 1000, got -1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"init": {"std": 0.0}}, "std must be above 0, got 0.0"),
        ({"norm": {"eps": 0.0}}, "eps must be above 0, got 0.0"),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, object], text: str):
    with pytest.raises(ValueError, match=text):
        options.model(**changes)


def test_a_vocabulary_is_the_datas_unless_it_is_told_to_be_larger():
    assert options.model(vocab=None).sizes(used_vocab=19).vocab == 19
    padded = options.model(vocab=23).sizes(used_vocab=19)
    assert (padded.vocab, padded.used_vocab, padded.head_width) == (23, 19, 4)


def test_a_vocabulary_smaller_than_the_datas_is_refused_with_both_numbers():
    with pytest.raises(
        ValueError, match=r"model\.vocab=18 is smaller than the 19 ids .*data=.*null"
    ):
        options.model(vocab=18).sizes(used_vocab=19)


@pytest.mark.parametrize(
    ("residual", "layers", "std"),
    [
        (Residual.plain, 3, 0.02),
        (Residual.scaled, 2, 0.01),
        (Residual.scaled, 12, 0.02 / 24**0.5),
        (Residual.zero, 3, 0.0),
        (Residual.scaled, 0, 0.02 / 2**0.5),
    ],
)
def test_residual_matrices_are_narrowed_by_the_root_of_their_number(
    residual: Residual, layers: int, std: float
):
    assert residual.std(0.02, num_layers=layers) == pytest.approx(std)
