"""The grammar as data: its floor, its text, its slots, its words."""

import math
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from andrea_exp.component import Refusal
from andrea_exp.data.base import DataConfig
from andrea_exp.data.chain import Chain
from andrea_exp.data.grammar import Grammar, GrammarConfig
from andrea_exp.data.grammar_rules import Shares, steps
from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.tokenizer.bytes import BytesConfig
from tests import options
from tests.data.sentences import (
    SHARES,
    SMALL,
    Reader,
    Sentence,
    music,
    rate,
    read,
    references,
    statements,
)

Ids = npt.NDArray[np.int64]


def config(changes: Mapping[str, Any] | None = None) -> GrammarConfig:
    found = options.typed(DataConfig, {**options.values("data", "grammar"), **(changes or {})})
    assert isinstance(found, GrammarConfig)
    return found


def grammar(changes: Mapping[str, Any] | None = None, *, context: int = 64) -> Grammar:
    return config(changes).load(tokenizer=None, context=context)


@pytest.fixture(scope="module")
def data() -> Grammar:
    return grammar()


@pytest.fixture(scope="module")
def parsed(data: Grammar) -> list[Sentence]:
    """The sentences of the first 100,000 words of the validation text, read with a list of all."""
    text = [data.words()[number] for number in data.validation()[:100_000].tolist()]
    return list(read(text, ENGLISH, SHARES))


def closed_form() -> float:
    """The entropy of each kind of sentence, by hand, over their mean length."""

    def entropy(*shares: float) -> float:
        return -sum(share * math.log(share) for share in shares)

    ln = math.log
    dated = ln(2) + ln(7) / 2
    statement = ln(12) + entropy(0.4, 0.6) + 0.4 * (ln(2) + ln(12) / 2 + ln(5) / 2)
    statement += ln(4) + ln(11) + dated
    nats = entropy(0.4, 0.2, 0.4) + 0.4 * statement + 0.2 * (ln(4) + ln(5) + dated) + 0.4 * ln(2)
    return nats / (0.4 * 8.2 + 0.2 * 6 + 0.4 * 6)


def every_sentence(*, agreement: bool = True) -> list[Sentence]:
    """All 76,194 sentences that can follow a statement about a cat and dogs."""
    bound = references(ENGLISH, SHARES, ("cat", "dogs"))
    return statements(ENGLISH, SHARES, agreement=agreement) + music(ENGLISH, SHARES) + bound


def test_the_floor_is_the_entropy_by_hand(data: Grammar):
    assert closed_form() == pytest.approx(0.893355, abs=5e-7)
    assert data.floor_nats == pytest.approx(closed_form(), rel=1e-12)


def test_the_floor_is_the_entropy_of_the_list_of_all_sentences(data: Grammar):
    assert data.floor_nats == pytest.approx(rate(every_sentence()), rel=1e-12)


def test_a_language_without_agreement_would_be_caught(data: Grammar):
    with pytest.raises(AssertionError):
        assert data.floor_nats == pytest.approx(rate(every_sentence(agreement=False)), rel=1e-3)


def assert_mean_is(expected: float, parsed: list[Sentence]):
    """-log p per word within four standard errors; the sentences are independent, words are not."""
    lengths = np.array([len(sentence.text) for sentence in parsed])
    excess = -np.log([sentence.probability for sentence in parsed]) - expected * lengths
    error = excess.std() / math.sqrt(len(parsed)) / lengths.mean()
    assert abs(excess.mean() / lengths.mean()) < 4 * error


def test_the_floor_is_the_mean_loss_of_a_hundred_thousand_words(
    data: Grammar, parsed: list[Sentence]
):
    assert sum(len(sentence.text) for sentence in parsed) > 99_900
    assert_mean_is(data.floor_nats, parsed)


@pytest.mark.parametrize("changes", [{"statements": 0.5}, {"music": 0.3}])
def test_the_floor_of_another_language_would_be_caught(
    changes: dict[str, float], parsed: list[Sentence]
):
    with pytest.raises(AssertionError):
        assert_mean_is(grammar(changes).floor_nats, parsed)


def test_the_mean_loss_without_agreement_would_be_caught(parsed: list[Sentence]):
    with pytest.raises(AssertionError):
        assert_mean_is(rate(every_sentence(agreement=False)), parsed)


def assert_same_texts(shares: Shares, reader: Reader):
    """Two sentences in a row have the probability that the list of sentences gives them."""
    language = Chain(steps(SMALL, shares), words=SMALL.words)
    (stops,) = np.nonzero(language.word == SMALL.words.index("."))
    walks = language.walk(np.random.default_rng(2), count=300, length=44)
    for walk in walks.tolist():
        ends = [index for index, step in enumerate(walk) if step in stops]
        nats = language.nats[walk[ends[0] + 1 : ends[2] + 1]].sum()
        words = [SMALL.words[number] for number in language.word[walk].tolist()]
        text = words[ends[0] + 1 : ends[2] + 1]
        chances = [reader.after(tuple(text), pair) for pair in reader.pairs]
        assert math.exp(-nats) in [pytest.approx(chance, rel=1e-9) for chance in chances]


def test_a_step_costs_its_word_given_the_whole_past():
    assert_same_texts(SHARES, Reader(SMALL))


def test_a_step_of_another_language_would_be_caught():
    with pytest.raises(AssertionError):
        assert_same_texts(SHARES._replace(near=0.41), Reader(SMALL))


def test_a_document_that_begins_with_a_statement_costs_what_others_found():
    """Means over 64, 128 and 512 words of a fresh document, from an independent computation."""
    language = Chain(steps(ENGLISH, SHARES), words=ENGLISH.words)
    flow = np.bincount(language.source, weights=language.probability * language.nats)
    share = np.zeros(language.num_states)
    first = language.target[[slot == "subject" for slot in language.slot]]
    share[np.unique(first)] = 1 / 12
    losses = [0, math.log(12)]
    for _ in range(510):
        losses.append(float(share @ flow))
        share = np.bincount(language.target, weights=share[language.source] * language.probability)
    assert losses[:6] == pytest.approx([0, 2.4849, 1.5048, 0, 2.5349, 0.9704], abs=5e-5)
    means = [np.mean(losses[:length]) for length in (64, 128, 512)]
    assert means == pytest.approx([0.93358, 0.91347, 0.89838], abs=5e-6)


def test_the_best_loss_of_scored_windows_is_the_floor_by_position(data: Grammar):
    """Evaluation windows lie end to end, training windows apart; both are as expected."""
    cut = np.lib.stride_tricks.sliding_window_view(data.validation(), 65)[::64]
    batch = data.draw(np.random.default_rng(8), count=3000, context=64)
    drawn = np.concatenate([batch.inputs.numpy(), batch.targets.numpy()[:, -1:]], axis=1)
    for windows in (cut, drawn):
        losses = data.optimal_nats(windows).mean(axis=1)
        error = losses.std() / math.sqrt(len(losses))
        assert abs(losses.mean() - data.floor_by_position(64).mean()) < 4 * error
        assert abs(losses.mean() - data.floor_nats) > 4 * error


def test_slots_are_what_the_words_are_in_their_sentences(data: Grammar, parsed: list[Sentence]):
    slots = data.slots()
    said = [slots.names[number] for number in slots.of_token[:100_000].tolist()]
    expected = [slot for sentence in parsed for slot in sentence.slots]
    stop = 1 + int(np.nonzero(data.validation()[:100_000] == data.words().index("."))[0][-1])
    assert said[stop - len(expected) : stop] == expected
    assert len(slots.of_token) == len(data.validation())
    assert len(set(slots.names)) == len(slots.names) == 12


def test_words_have_ids_of_their_own_by_class(data: Grammar):
    words = data.words()
    assert len(set(words)) == len(words) == data.vocab == GrammarConfig.known_size(config()) == 45
    pets = [words[number] for number in data.word_class("pets")]
    assert {"cat", "dog", "pet", "cats"} <= set(pets)
    assert len(pets) == 12
    assert "Tuesday" in [words[number] for number in data.word_class("weekdays")]
    assert "xylophone" in [words[number] for number in data.word_class("instruments")]
    names = ("pets", "weekdays", "instruments", "names", "verbs", "function")
    ids = [number for name in names for number in data.word_class(name)]
    assert sorted(ids) == list(range(45))
    with pytest.raises(ValueError, match="no words are called 'pet'; there are function, pets"):
        data.word_class("pet")


def test_validation_is_the_same_in_every_run_and_shares_nothing_with_training(data: Grammar):
    assert data.validation().tolist() == grammar().validation().tolist()
    assert len(data.validation()) == len(data.training_sample()) == 200_000

    def pieces(ids: Ids) -> set[bytes]:
        return {ids[start : start + 200].tobytes() for start in range(0, len(ids) - 200, 5)}

    assert not pieces(data.validation()) & pieces(data.training_sample())
    assert (data.tokenizer, data.train_tokens) == (None, None)


def test_training_windows_are_a_function_of_the_generators_state(data: Grammar):
    one, same, other = (
        data.draw(np.random.default_rng(seed), count=5, context=9) for seed in (1, 1, 2)
    )
    assert one.inputs.shape == one.targets.shape == one.weights.shape == (5, 9)
    assert one.inputs.equal(same.inputs)
    assert not one.inputs.equal(other.inputs)
    assert one.inputs[:, 1:].equal(one.targets[:, :-1])


def test_a_copy_in_another_process_draws_the_same(data: Grammar):
    copy = pickle.loads(pickle.dumps(data))  # noqa: S301 - written one line up
    draws = [each.draw(np.random.default_rng(3), count=4, context=11) for each in (data, copy)]
    assert draws[0].inputs.equal(draws[1].inputs)
    assert copy.fingerprint == data.fingerprint


def test_the_fingerprint_tells_languages_apart(data: Grammar):
    changes: list[dict[str, Any]] = [{}, {"near": 0.41}, {"music": 0.21}]
    changes.append({"validation_tokens": 199_999})
    assert len({grammar(change).fingerprint for change in changes}) == 4
    assert grammar().fingerprint == data.fingerprint


def test_a_tokenizer_beside_the_grammar_is_refused():
    assert GrammarConfig.has_own_ids()
    with pytest.raises(Refusal, match="leave out tokenizer=bytes"):
        config().load(tokenizer=BytesConfig(name="bytes"), context=11)


def test_fewer_validation_words_than_a_window_are_refused_with_both_numbers():
    with pytest.raises(Refusal, match=r"validation_tokens=11 is fewer than the 12 "):
        grammar({"validation_tokens": 11}, context=11)
    assert len(grammar({"validation_tokens": 12}, context=11).validation()) == 12


@pytest.mark.parametrize("share", ["statements", "music", "near", "dated"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_share_that_leaves_a_form_out_is_refused(share: str, value: float):
    with pytest.raises(ValueError, match=f"{share} must be above 0 and below 1, got {value}"):
        config({share: value})


def test_shares_that_leave_no_references_are_refused():
    with pytest.raises(ValueError, match=r"statements=0.7 and music=0.3 leave nothing for ref"):
        config({"statements": 0.7, "music": 0.3})
