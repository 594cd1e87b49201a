"""What Hydra makes of a command line, and how its complaints are said."""

import pytest

from andrea_exp.component import Refusal
from andrea_exp.config.compose import compose


def test_the_default_composition_chooses_one_option_per_group() -> None:
    choices = compose([]).choices
    assert choices["system"] == "toy"
    assert choices["position"] == "learned"
    assert choices["kernel/attention"] == "torch"
    assert choices["experiment"] is None


def test_the_command_line_beats_an_experiment_and_an_experiment_beats_a_system() -> None:
    assert compose(["system=gpt2"]).values["output"]["name"] == "tied"
    assert compose(["system=gpt2", "output=untied"]).values["output"]["name"] == "untied"
    assert compose(["experiment=past_T"]).values["name"] == "past_T"
    assert compose(["experiment=past_T", "name=mine"]).values["name"] == "mine"


def test_a_named_deviation_keeps_the_class_and_changes_one_value() -> None:
    plain, raw = (
        compose(["position=sinusoidal"]).values,
        compose(["position=sinusoidal_raw"]).values,
    )
    assert raw["position"] == {**plain["position"], "multiplier": 1.0}


def test_a_bundle_and_one_of_its_parts_can_be_chosen_together() -> None:
    composed = compose(["kernel=torch", "kernel/embedding=torch"])
    assert composed.values["kernel"]["embedding"] == {"name": "torch"}


def test_a_null_seed_is_drawn_and_a_zero_seed_is_kept() -> None:
    assert compose(["seed=0"]).values["seed"] == 0
    drawn = {compose(["seed=null"]).values["seed"] for _ in range(4)}
    assert len(drawn) > 1
    assert all(isinstance(seed, int) for seed in drawn)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("position=leaned", ["position=leaned", "learned"]),
        ("postion=rope", ["postion=rope", "position"]),
        ("optimizer.lrr=1", ["optimizer.lrr=1", "optimizer.lr"]),
        ("+optimzer.lr=1", ["optimzer.lr=1", "optimizer.lr"]),
        ("++trainer.max_step=1", ["trainer.max_step=1", "trainer.max_steps"]),
        ("+positon=rope", ["positon=rope", "position"]),
        ("position=learned,rope", ["position=learned,rope", "-m"]),
        ("trainer.max_steps=[", ["cannot read", "["]),
        ("name=été", ["cannot read", "name=été", "quote a value", "\"name='été'\""]),
    ],
)
def test_a_wrong_word_is_answered_with_the_nearest_that_would_work(
    word: str, parts: list[str]
) -> None:
    with pytest.raises(Refusal) as refusal:
        compose([word])
    for part in parts:
        assert part in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_the_grid_of_an_experiment_is_reported() -> None:
    assert set(compose(["experiment=past_T"]).grid) == {"position", "seed"}


@pytest.mark.parametrize("seeds", ["5", "0", "abc", "null"])
def test_seeds_that_are_no_list_are_refused(seeds: str) -> None:
    with pytest.raises(Refusal, match="must be a list, such as seeds="):
        compose([f"seeds={seeds}"])


def test_advice_on_quotes_is_given_for_other_letters_alone_and_holds() -> None:
    with pytest.raises(Refusal) as refusal:
        compose(["trainer.max_steps=["])
    assert "quote" not in str(refusal.value)
    assert compose(["name='été'"]).values["name"] == "été"
