"""What a command line means, wherever it is executed in the end."""

from pathlib import Path

import pytest

from andrea_exp.component import Refusal
from andrea_exp.config.frozen import freeze, thaw
from andrea_exp.config.request import request
from andrea_exp.data.text import TextConfig


def paths(*words: str) -> list[str]:
    data = request(["data=text", *words]).config.recipe.data
    assert isinstance(data, TextConfig)
    return data.path


def test_paths_of_data_do_not_depend_on_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paths("data.path=a.txt") == [f"{tmp_path}/a.txt"]
    assert paths("data.path=[a.txt,/b/c.txt,'~/d.txt']") == [
        f"{tmp_path}/a.txt",
        "/b/c.txt",
        "~/d.txt",
    ]
    assert paths("data.path=b/../a.txt") == [f"{tmp_path}/a.txt"]
    assert paths("data.path='b/*.txt'") == [f"{tmp_path}/b/*.txt"]
    assert paths(f"data.path={tmp_path}/home/d.txt") == ["~/d.txt"]
    assert paths("data.path='~/d.txt'") == ["~/d.txt"]
    assert paths() == []


def test_a_frozen_path_means_the_same_file_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    frozen = freeze(request(["data=text", "data.path=a.txt"]))
    monkeypatch.chdir("/")
    again = thaw(frozen).recipe.data
    assert isinstance(again, TextConfig)
    assert [Path(path).expanduser() for path in again.path] == [tmp_path / "a.txt"]
    there = request(["data=text", f"data.path={tmp_path}/a.txt"])
    assert freeze(there).recipe_hash == frozen.recipe_hash


def test_a_list_may_be_written_as_its_only_element():
    evaluation = request(["evaluation.length_factors=2"]).config.recipe.evaluation
    assert evaluation.length_factors == [2.0]
    with pytest.raises(Refusal, match="length_factors"):
        request(["evaluation.length_factors=many"])


def test_a_vocabulary_without_merges_is_the_smallest():
    with pytest.raises(Refusal, match=r"tokenizer\.size must be at least 257, got 256"):
        request(["tokenizer=bpe", "tokenizer.size=256"])


@pytest.mark.parametrize("data", ["text", "hub"])
def test_text_goes_with_every_tokenizer(data: str):
    for tokenizer in ("bytes", "chars", "bpe", "bpe_8449"):
        assert request([f"data={data}", f"tokenizer={tokenizer}"]).config.recipe.tokenizer
