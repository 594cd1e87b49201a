"""Every option of every group trains for two steps from the command line, or says why not."""

import shutil
from pathlib import Path

import pytest
import torch

import andrea_exp
from andrea_exp.assemble import Run
from andrea_exp.component import Refusal
from andrea_exp.config.backends import unfit
from andrea_exp.config.catalogue import groups
from andrea_exp.config.frozen import recipe_hash
from andrea_exp.config.request import request
from andrea_exp.freeze import freeze_single
from tests.commands import tiny

STEPS = ("trainer.max_steps=2", "trainer.accumulation=1", "optimizer.schedule.warmup_steps=0")
BATCH = ("data.batch_size=4",)
TEXT = ("data=stdlib", *tiny.SMALL, *tiny.QUICK, *tiny.RUNNING, *STEPS, *BATCH)
NOISE = (*tiny.WORDS, *STEPS, *BATCH)
PAGE = Path(andrea_exp.__file__).parent.parent / "README.md"
DATA = {
    "stdlib": (),
    "text": (f"data.path={PAGE}",),
    "hub": ("data.path=text", f"data.files={PAGE}"),
    "grammar": ("data.validation_tokens=2000",),
}
"""Data sets other than noise, with what each must be told."""
ELSEWHERE = {"hydra/launcher", "experiment", "runtime", "system"}
"""Groups with tests of their own; for systems see test_systems.py."""
OPTIONS = [(group, option) for group, options in groups().items() for option in options]


def words(group: str, option: str) -> list[str]:
    """A small run with this option."""
    chosen = f"{group}={option}"
    if group == "tokenizer":
        # Merges for the sizes of the options themselves would need a large text.
        size = ["tokenizer.size=300"] if option.startswith("bpe") else []
        return [*TEXT[1:], "data=text", *DATA["text"], chosen, *size]
    if group == "data" and option in DATA:
        return [*TEXT[1:], chosen, *DATA[option]]
    rank = ["embedding.rank=5"] if chosen == "embedding=factorized" else []
    lean = tiny.LEAN if group.startswith("kernel") else ()
    return [*NOISE, *lean, chosen, *rank]


@pytest.fixture(scope="module")
def trained() -> dict[str, dict[str, object]]:
    """Recipe -> its `final`; many options are the default of their group and share one."""
    return {}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("group", "option"),
    [(group, option) for group, option in OPTIONS if group not in ELSEWHERE],
)
def test_an_option_trains_for_two_steps(
    group: str, option: str, trained: dict[str, dict[str, object]]
) -> None:
    asked = request(words(group, option))
    assert asked.composed.choices[group] == option
    if unfit(asked.config.recipe.kernel, Run(asked.config).use()):
        with pytest.raises(Refusal, match="cannot run here"):
            freeze_single(asked)
        return
    recipe = recipe_hash(asked.composed.values)
    if recipe not in trained:
        run = tiny.train_request(asked)
        assert [row["step"] for row in tiny.metrics(run)] == [2]
        trained[recipe] = tiny.results(run)["final"]
        shutil.rmtree(run)
    for loss in ("train_loss_nats", "val_loss_nats"):
        assert isinstance(trained[recipe][loss], float)


def test_the_cpu_trains_and_the_gpu_says_why_it_cannot(place: Path) -> None:
    assert groups()["runtime"] == ["cpu", "ddp", "gpu"]  # for ddp see test_ddp.py
    if torch.cuda.is_available():
        tiny.train(*NOISE, "runtime=gpu")
        return
    with pytest.raises(Refusal, match="sees no CUDA device here; use runtime=cpu"):
        freeze_single(request([*NOISE, "runtime=gpu"]))
    assert tiny.files(place) == set()
