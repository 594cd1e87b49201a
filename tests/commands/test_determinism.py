"""The same words give the same bits."""

from pathlib import Path

import pytest

from tests.commands import tiny

LOGGED = ("model.dropout=0.1", "trainer.accumulation=2", "trainer.log_every_steps=1")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> run of the same words, but for seed or loader workers."""
    place = tmp_path_factory.mktemp("determinism")
    changes = {"first": [], "second": [], "seeded": ["seed=1"], "workers": ["runtime.workers=2"]}
    runs: dict[str, Path] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, words in changes.items():
            runs[name] = place / tiny.train(*tiny.WORDS, *LOGGED, f"name={name}", *words)
    return runs


@pytest.mark.parametrize("other", ["second", "workers"])
def test_two_runs_of_one_seed_are_equal(trained: dict[str, Path], other: str) -> None:
    first, second = trained["first"], trained[other]
    assert tiny.metrics(first) == tiny.metrics(second)
    assert len(tiny.metrics(first)) == 4
    assert tiny.weights(first) == tiny.weights(second)
    left, right = tiny.results(first), tiny.results(second)
    for part in ("cost", "lengths", "smoothness", "final"):
        assert left[part] == right[part]


def test_another_seed_gives_another_run(trained: dict[str, Path]) -> None:
    assert tiny.metrics(trained["first"]) != tiny.metrics(trained["seeded"])
    assert tiny.weights(trained["first"]) != tiny.weights(trained["seeded"])
