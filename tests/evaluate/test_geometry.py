import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from andrea_exp.component import Refusal
from andrea_exp.data.base import Contrast
from andrea_exp.data.noise import NoiseConfig
from andrea_exp.evaluate.chosen import Chosen, chosen, frequent_pairs
from andrea_exp.evaluate.geometry import (
    Geometry,
    Rows,
    chosen_rows,
    class_cosines,
    geometry,
    products,
)
from andrea_exp.evaluate.nearest import neighbours
from andrea_exp.model.decoder import Decoder
from tests import options
from tests.evaluate.test_floor import config, grammar

VOCAB = 45


def built(output: str, *, vocab: int | None = None) -> Decoder:
    return options.decoder(
        options.model(vocab=vocab),
        position=options.position("rope_half"),
        embedding=options.embedding("table", std=0.5),
        output=options.output(output),
        used_vocab=VOCAB,
    )


def measured(model: Decoder, *, init: dict[str, Rows], **changes: Any) -> Geometry:
    looked_at = chosen(grammar(), config=config(**changes))
    found = geometry(model, grammar(), looked_at=looked_at, init=init, num_neighbours=3)
    assert found is not None
    return found


def before(model: Decoder) -> dict[str, Rows]:
    return chosen_rows(model, chosen(grammar(), config=config()).tokens)


def test_products_of_constructed_rows_are_exact():
    v = torch.tensor([3.0, -4.0, 12.0], dtype=torch.float64)
    same, opposite = products(torch.stack([v, v])), products(torch.stack([v, -v]))
    orthogonal = products(torch.stack([v, torch.tensor([4.0, 3.0, 0.0], dtype=torch.float64)]))
    assert (same.first_norm, same.second_norm, same.dot, same.cosine) == (13, 13, 169, 1)
    assert (opposite.dot, opposite.cosine) == (-169, -1)
    assert (orthogonal.dot, orthogonal.cosine, orthogonal.second_norm) == (0, 0, 5)
    assert products(torch.stack([v, 0 * v])).cosine is None


def by_hand(rows: np.ndarray, contrast: Contrast) -> tuple[float, float, dict[str, float]]:
    """One pair at a time."""

    def cosine(first: int, second: int) -> float:
        a, b = rows[first], rows[second]
        return float(a @ b / math.sqrt((a @ a) * (b @ b)))

    own = contrast.ids
    within = [cosine(a, b) for i, a in enumerate(own) for b in own[:i]]
    to = {name: [cosine(a, b) for a in own for b in ids] for name, ids in contrast.others.items()}
    across = [each for cosines in to.values() for each in cosines]
    means = {name: float(np.mean(cosines)) for name, cosines in to.items()}
    return float(np.mean(within)), float(np.mean(across)), means


def assert_classes(rows: Rows, table: np.ndarray):
    contrast = grammar().contrast()
    found = class_cosines(rows, contrast)
    within, across, to = by_hand(table, contrast)
    assert found is not None
    assert found.within == pytest.approx(within, abs=1e-12)
    assert found.across == pytest.approx(across, abs=1e-12)
    assert found.to == pytest.approx(to, abs=1e-12)
    assert found.difference == pytest.approx(within - across, abs=1e-12)


def test_the_class_measure_is_the_mean_over_pairs():
    model = built("untied")
    for name, rows in before(model).items():
        table = {"input": model.embedding, "output": model.output}[name].weight
        assert isinstance(table, torch.Tensor)
        assert_classes(rows, table.detach().double().numpy())


def test_a_class_measure_with_a_word_in_the_wrong_class_would_be_caught():
    model = built("tied")
    rows = before(model)["input"]
    (pet, *_), day = grammar().contrast().ids, grammar().contrast().others["weekdays"][0]
    swapped = rows.place | {pet: rows.place[day], day: rows.place[pet]}
    table = model.embedding.token_rows().detach().double().numpy()
    with pytest.raises(AssertionError):
        assert_classes(rows._replace(place=swapped), table)


def test_a_class_of_equal_rows_away_from_the_others_has_the_greatest_difference():
    contrast = Contrast(name="a", ids=(0, 1), others={"b": (2,), "c": (3, 4)}, pairs=())
    values = torch.tensor([[1, 0], [5, 0], [0, 1], [0, 2], [0, 0]], dtype=torch.float64)
    found = class_cosines(Rows({token: token for token in range(5)}, values), contrast)
    assert found is not None
    assert (found.within, found.across, found.difference) == (1, 0, 1)
    assert class_cosines(Rows(dict.fromkeys(range(5), 4), values), contrast) is None


def test_init_and_trained_rows_are_those_of_their_time():
    model = built("untied")
    init = before(model)
    old = model.embedding.token_rows().detach().double().clone()
    with torch.no_grad():
        model.embedding.token_rows().mul_(2).add_(0.25)
    new = model.embedding.token_rows().detach().double()
    found = measured(model, init=init).input
    cat, dog = (grammar().words().index(word) for word in ("cat", "dog"))
    pair = found.pairs[0]
    assert (pair.first, pair.second) == ("cat", "dog")
    assert pair.init.dot == pytest.approx(float(old[cat] @ old[dog]), rel=1e-12)
    assert pair.trained.dot == pytest.approx(float(new[cat] @ new[dog]), rel=1e-12)
    assert pair.init.dot != pytest.approx(pair.trained.dot, rel=0.1)
    assert found.contrast is not None
    assert found.contrast.rise == found.contrast.trained.difference - found.contrast.init.difference
    assert found.contrast.rise != 0


def test_rows_of_an_untied_output_are_measured_apart_and_those_of_a_tied_one_once():
    untied, tied = (measured(model, init=before(model)) for model in map(built, ("untied", "tied")))
    assert untied.output is not None
    assert untied.output.pairs[0].init != untied.input.pairs[0].init
    assert (untied.tied, tied.tied, tied.output) == (False, True, None)
    assert tied.input == untied.input  # the same seed draws the same token rows


def nearest_by_hand(table: np.ndarray, token: int, *, count: int) -> list[str]:
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    order = np.argsort(-(unit @ unit[token]))
    return [grammar().words()[index] for index in order if index != token][:count]


def test_neighbours_are_the_nearest_by_cosine_without_the_token_itself():
    rows = built("tied").embedding.token_rows().detach()
    rows = rows * torch.linspace(0.1, 3, VOCAB)[:, None]  # norms say nothing
    found = neighbours(rows, 9, count=4, data=grammar())
    expected = nearest_by_hand(rows.double().numpy(), 9, count=4)
    assert [each.token for each in found] == expected
    assert expected != nearest_by_hand((rows**3).double().numpy(), 9, count=4)
    cosines = torch.nn.functional.cosine_similarity(rows[9], rows).sort(descending=True).values
    assert [each.cosine for each in found] == pytest.approx(cosines[1:5].tolist(), rel=1e-5)


def test_zero_rows_and_padding_are_no_neighbours():
    model = built("tied", vocab=VOCAB + 9)
    with torch.no_grad():
        rows = model.embedding.token_rows()
        rows[VOCAB:] = rows[9]
        rows[20:VOCAB] = 0
    found = measured(model, init=before(model)).input
    near = {each.token: [other.token for other in each.nearest] for each in found.neighbours}
    known = set(grammar().words()[:20])
    assert near["cat"]
    assert all(set(others) <= known for others in near.values())
    assert near["Tuesday"] == []


def test_pairs_of_the_data_come_first_and_the_users_after_them():
    looked_at = chosen(grammar(), config=config(pairs=[["Bob", "flute"], ["cat", "dog"]]))
    words = [tuple(grammar().words()[token] for token in pair) for pair in looked_at.pairs]
    assert words == [
        *(("cat", "dog"), ("cat", "pet"), ("cat", "Tuesday"), ("cat", "xylophone")),
        ("Bob", "flute"),
    ]
    assert set(looked_at.shown) < set(looked_at.tokens)


def test_data_without_pairs_of_their_own_are_shown_by_their_most_frequent_tokens():
    tokens = np.array([7, 3, 3, 9, 9, 1, 5, 5, 5])
    assert frequent_pairs(tokens, vocab=11, count=3) == ((5, 3), (5, 9), (3, 9))
    assert frequent_pairs(tokens, vocab=11, count=1) == ()
    assert frequent_pairs(tokens, vocab=11, count=0) == ()
    assert len(frequent_pairs(tokens, vocab=11, count=9)) == 10  # five ids occur
    many = np.repeat(tokens.astype(np.uint16), 300_000)
    assert frequent_pairs(many, vocab=11, count=3) == ((5, 3), (5, 9), (3, 9))
    noise = NoiseConfig(name="noise", batch_size=3, vocab=45, validation_tokens=900)
    data = noise.load(tokenizer=None, context=7)
    assert chosen(data, config=config(frequent_tokens=0)) == Chosen((), None)
    nothing = chosen(data, config=config(frequent_tokens=0))
    model = built("tied")
    assert geometry(model, data, looked_at=nothing, init={}, num_neighbours=3) is None


def test_a_text_that_is_not_one_token_is_refused_with_its_name():
    with pytest.raises(Refusal, match=r"^evaluation.pairs: 'horse' is not a word of the data"):
        chosen(grammar(), config=config(pairs=[["cat", "horse"]]))
    with pytest.raises(ValueError, match="must be two texts"):
        config(pairs=[["cat"]])


def test_the_record_is_json_and_knows_what_chance_gives():
    model = built("untied")
    found = dataclasses.asdict(measured(model, init=before(model)))
    assert json.dumps(found, allow_nan=False)
    assert list(found) == ["tied", "input", "output"]
    assert list(found["input"]) == ["random_cosine_sd", "pairs", "contrast", "neighbours"]
    assert found["input"]["random_cosine_sd"] == 12**-0.5


def test_rows_at_init_are_orthogonal_up_to_the_stated_deviation():
    rows = torch.randn(400, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    found = [products(pair).cosine for pair in rows.split(2)]
    cosines = [each for each in found if each is not None]
    assert len(cosines) == 200
    assert np.mean(cosines) == pytest.approx(0, abs=4 * 64**-0.5 / math.sqrt(200))
    assert np.std(cosines) == pytest.approx(64**-0.5, rel=4 / math.sqrt(400))
