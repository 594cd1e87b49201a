"""What a configuration is warned of, and what it is refused for before any of it is built."""

import math
from pathlib import Path

import pytest
import torch

import andrea_exp
from andrea_exp.component import Refusal
from andrea_exp.config.catalogue import groups
from tests.commands import tiny

SATURATED = "is certain of some id before it has learned anything"


def warnings(*words: str) -> list[str]:
    return andrea_exp.compose(*words).warnings()


@pytest.mark.parametrize("output", ["tied", "untied"])
@pytest.mark.parametrize("system", groups()["system"])
def test_no_system_is_warned_of_whatever_its_output(system: str, output: str) -> None:
    assert warnings(f"system={system}", f"output={output}") == []


@pytest.mark.parametrize("system", ["toy", "andrea_120m", "nanogpt_shakespeare", "microgpt"])
def test_the_root_of_the_width_for_its_inverse_is_flagged(system: str) -> None:
    width = andrea_exp.compose(f"system={system}").recipe.model.d_model
    (tied,) = warnings(f"system={system}", "output=tied", f"embedding.std={width**0.5}")
    (own,) = warnings(f"system={system}", "output=untied", f"output.std={width**0.5}")
    for warning, option in ((tied, "output=tied"), (own, "output=untied")):
        assert warning.startswith(f"{option}: rows that start with a standard deviation of ")
        for part in (f"{width**0.5:.3g}", f"give logits of {float(width):.3g} ", SATURATED):
            assert part in warning
        assert "lower embedding.std (null: 1/sqrt(D)), or output.std" in warning


def test_an_output_of_its_own_starts_as_the_tokens_do_unless_it_is_told_otherwise() -> None:
    assert SATURATED in warnings("output=untied", "embedding.std=1")[0]
    assert warnings("output=untied", "embedding.std=1", "output.std=0.1") == []


def test_the_limit_is_where_a_softmax_of_normal_logits_begins_to_rest_on_a_few() -> None:
    limit = math.sqrt(2 * math.log(257) / 128)
    assert warnings(f"embedding.std={0.999 * limit}") == []
    assert SATURATED in warnings(f"embedding.std={1.001 * limit}")[0]


@pytest.mark.parametrize(
    ("words", "most"), [(["embedding.std=1"], 0.5), (["embedding.std=0.088"], 0.1)]
)
def test_the_flagged_model_is_certain_at_init_and_the_default_is_not(
    words: list[str], most: float
) -> None:
    """The mean of the largest probability, at 257 ids and 128 features."""
    run = andrea_exp.compose(*words)
    with torch.no_grad():
        largest = run.build_model()(torch.arange(256).view(4, 64)).softmax(-1).amax(-1).mean()
    assert (float(largest) > most) == (run.warnings() != [])


def test_a_saturated_run_says_so_and_trains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny.train(*tiny.WORDS, "embedding.std=2")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("WARNING: output=tied: ")
    assert SATURATED in line


def test_a_training_that_cannot_fit_is_refused_with_its_parts() -> None:
    run = andrea_exp.compose(*tiny.WORDS, "model.num_layers=500", "model.d_model=20000")
    with pytest.raises(Refusal, match=r"take 38,400 GB, .* blocks 2,400,000,000,000, output 0$"):
        run.check()
    andrea_exp.compose(*tiny.WORDS).check()


def test_processes_on_one_machine_hold_a_copy_each() -> None:
    words = [*tiny.WORDS, "model.d_model=1000000"]
    with pytest.raises(Refusal, match=r"take 384,00\d GB"):
        andrea_exp.compose(*words).check()
    with pytest.raises(Refusal, match=r"take 1,536,00\d GB"):
        andrea_exp.compose(*words, "runtime.devices=4").check()
