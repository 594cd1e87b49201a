import dataclasses
import json

import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.drift import Decay
from andrea_exp.evaluate.panel import panel
from andrea_exp.evaluate.smoothness import Smoothness, smoothness
from andrea_exp.position.base import Position
from andrea_exp.shapes import Sizes
from tests import options

SIZES = Sizes(vocab=19, used_vocab=19, context=7, d_model=12, num_heads=3, num_layers=2)


def scheme(option: str, **changes: object) -> Position:
    built = options.position(option, **changes).build(sizes=SIZES, token_scale=0.3)
    built.initialise(torch.Generator().manual_seed(0))
    return built


def measured(position: Position, init: Tensor | None, *, seed: int = 0) -> Smoothness:
    """Of 19 token vectors and a training without decay."""
    return smoothness(
        position,
        init=init,
        tokens=torch.randn(19, 12, generator=torch.Generator().manual_seed(1)),
        context=7,
        decay=Decay(kept=1.0, steps=4),
        shuffles=200,
        seed=seed,
    )


def test_only_the_rows_that_training_reads_are_measured():
    position = scheme("learned", rows=11)
    table = position.table()
    assert table is not None
    init = table.detach().clone()
    with torch.no_grad():
        table.mul_(2).add_(1)
    found = measured(position, init)
    assert found.table == "learned rows 0..6"
    assert found.init == panel(init[:7])
    assert found.trained == panel(2 * init[:7] + 1)
    assert found.trained != panel(2 * init + 1)
    assert found.controls is not None
    assert len(found.controls.iid.row_norms) == 7
    assert found.change == panel(2 * init[:7] + 1 - init[:7])
    assert found.overlap is not None
    assert found.overlap.k == panel(2 * init[:7] + 1).k95
    assert found.row_cosines is not None
    assert found.row_cosines.rows == list(range(7))


def test_the_drift_is_of_every_row_of_the_table():
    position = scheme("learned", rows=11)
    table = position.table()
    assert table is not None
    init = table.detach().clone()
    with torch.no_grad():
        table[:7].mul_(2)
    found = measured(position, init).drift
    assert found is not None
    assert found.relative == [pytest.approx(1)] * 7 + [0] * 4
    assert found.first_untrained_row == 7


def test_a_fixed_table_is_measured_too():
    position = scheme("sinusoidal")
    found = measured(position, position.table())
    assert found.table == "sinusoidal rows 0..6"
    assert (found.change, found.drift) == (None, None)
    assert found.controls is not None
    assert found.trained is not None
    assert found.trained.d2_over_d1 == pytest.approx(found.controls.sinusoid.d2_over_d1, rel=1e-5)


@pytest.mark.parametrize("option", ["rope_half", "alibi", "none"])
def test_a_scheme_without_a_table_has_nothing_to_measure(option: str):
    found = measured(scheme(option), None)
    assert set(dataclasses.asdict(found).values()) == {None}


def test_the_record_is_json_with_the_contracts_keys():
    position = scheme("learned")
    found = dataclasses.asdict(measured(position, position.table()))
    wanted = "table init trained change controls permutation drift overlap row_cosines hidden_mean"
    assert " ".join(found) == wanted
    assert list(found["controls"]) == ["sinusoid", "iid", "shuffled", "random_walk"]
    wanted = (
        "adjacent_cosine centred_adjacent_cosine cosine_by_lag d1 d1_centred d2 d2_over_d1 "
        "effective_rank k95 high_frequency_energy translation_invariance row_norms"
    )
    by_lag = ("centred_cosine_by_lag", "translation_invariance_by_lag")
    assert " ".join(key for key in found["trained"] if key not in by_lag) == wanted
    assert json.dumps(found, allow_nan=False)
