"""`diagnose`: the panel on any file of weights, and no code of a file is run."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from typing_extensions import override

from andrea_exp import diagnose
from andrea_exp.evaluate.controls import sinusoid_rows
from andrea_exp.evaluate.panel import panel
from tests.commands import tiny

Said = pytest.CaptureFixture[str]
ROWS = sinusoid_rows(64, width=128)


def said(words: list[str], capsys: Said) -> dict[str, Any]:
    capsys.readouterr()
    assert diagnose.main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refusal(words: list[str], capsys: Said) -> str:
    capsys.readouterr()
    assert diagnose.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    return captured.err


def test_the_sinusoid_has_its_published_smoothness(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "model.safetensors"
    save_file({"wpe.weight": ROWS, "wte.weight": torch.randn(7, 128)}, file)
    found = said([str(file)], capsys)
    assert (found["tensor"], found["shape"]) == ("wpe.weight", [64, 128])
    assert found["panel"] == found["controls"]["sinusoid"]
    assert found["panel"]["adjacent_cosine"] == panel(ROWS).adjacent_cosine


@pytest.mark.parametrize("nested", [False, True])
def test_a_file_of_pytorch_is_read_by_dotted_names(
    tmp_path: Path, capsys: Said, *, nested: bool
) -> None:
    state = {"embeddings.position_embeddings.weight": ROWS.float(), "step": torch.tensor(3)}
    torch.save({"model": state, "epoch": 3} if nested else state, tmp_path / "x.pt")
    found = said([str(tmp_path / "x.pt")], capsys)
    prefix = "model." if nested else ""
    assert found["tensor"] == f"{prefix}embeddings.position_embeddings.weight"
    assert found["panel"]["adjacent_cosine"] == pytest.approx(0.9662, abs=0.02)


def test_the_rows_of_a_run_are_those_that_it_trained(place: Path, capsys: Said) -> None:
    run = place / tiny.train(*tiny.WORDS, "position.rows=20")
    found = said([str(run)], capsys)
    assert (found["tensor"], found["shape"]) == ("position.weight", [8, 16])
    assert found["panel"] == tiny.results(run)["smoothness"]["trained"]
    assert found["permutation"] == tiny.results(run)["smoothness"]["permutation"]
    assert said([str(run), "--rows", "20"], capsys)["shape"] == [20, 16]


def test_a_leading_axis_of_one_is_no_axis(tmp_path: Path, capsys: Said) -> None:
    save_file({"pos_embed": ROWS[None].bfloat16()}, tmp_path / "vit.safetensors")
    assert said([str(tmp_path / "vit.safetensors")], capsys)["shape"] == [64, 128]


def test_the_terminal_shows_the_rows_above_the_controls(tmp_path: Path, capsys: Said) -> None:
    save_file({"wpe": ROWS}, tmp_path / "x.safetensors")
    assert diagnose.main([str(tmp_path / "x.safetensors")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"wpe of {tmp_path / 'x.safetensors'}: 64 rows of 128"
    names = [line[:21].strip() for line in lines[2:]]
    assert names[:4] == ["rows", "these rows", "control: sinusoid", "control: iid"]


def test_the_terminal_tells_the_null_and_the_translation(tmp_path: Path, capsys: Said) -> None:
    save_file({"wpe": ROWS}, tmp_path / "x.safetensors")
    found = said([str(tmp_path / "x.safetensors"), "--shuffles", "300"], capsys)
    null = found["permutation"]
    assert (null["shuffles"], null["p"]) == (300, 1 / 301)
    assert found["panel"]["translation_invariance"] < 1e-9
    assert diagnose.main([str(tmp_path / "x.safetensors"), "--shuffles", "300"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "In 300 random orders of these rows the centred neighbour cosine is" in text
    assert f"and {null['max']:.3f} at most; p = 0.0033." in text
    shuffled = found["controls"]["shuffled"]["translation_invariance"]
    assert "alone): 0.000; sinusoid 0.000, iid" in text
    assert f"shuffled {shuffled:.3f}." in text


def test_no_shuffle_is_no_null(tmp_path: Path, capsys: Said) -> None:
    save_file({"wpe": ROWS}, tmp_path / "x.safetensors")
    assert "--shuffles 0" in refusal([str(tmp_path / "x.safetensors"), "--shuffles", "0"], capsys)


def test_several_tables_are_listed_and_one_can_be_named(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "two.safetensors"
    save_file({"a": ROWS, "b": ROWS[:, :9].contiguous(), "flat": ROWS[0].clone()}, file)
    text = refusal([str(file)], capsys)
    assert "  a  64 x 128" in text
    assert "  b  64 x 9" in text
    assert "flat" not in text
    assert "--tensor" in text
    assert said([str(file), "--tensor", "b"], capsys)["shape"] == [64, 9]
    assert "has no table c" in refusal([str(file), "--tensor", "c"], capsys)


class _Harm:
    """Unpickling it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @override
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return Path.mkdir, (self._folder,)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("through_torch", [True, False])
def test_code_in_a_file_is_refused_and_not_run(
    tmp_path: Path, capsys: Said, *, through_torch: bool
) -> None:
    file, harmed = tmp_path / "x.pt", tmp_path / "harmed"
    content = {"wpe": ROWS, "more": _Harm(harmed)}
    if through_torch:
        torch.save(content, file)
    else:
        file.write_bytes(pickle.dumps(content))
    assert "could run code" in refusal([str(file)], capsys)
    assert not harmed.exists()


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"PK cut"])
def test_what_is_no_file_of_weights_is_refused(
    tmp_path: Path, capsys: Said, content: bytes
) -> None:
    (tmp_path / "x").write_bytes(content)
    assert "is not a file of weights" in refusal([str(tmp_path / "x")], capsys)


def test_a_cut_file_and_a_missing_one_are_refused(tmp_path: Path, capsys: Said) -> None:
    file = tmp_path / "x.safetensors"
    save_file({"wpe": ROWS}, file)
    file.write_bytes(file.read_bytes()[:-100])
    assert "not a whole file" in refusal([str(file)], capsys)
    assert "is not a file" in refusal([str(tmp_path / "nowhere")], capsys)
    assert "not a run directory" in refusal([str(tmp_path)], capsys)


def test_no_table_and_too_few_rows_are_refused(tmp_path: Path, capsys: Said) -> None:
    save_file({"bias": ROWS[0]}, tmp_path / "x.safetensors")
    assert "no two-dimensional" in refusal([str(tmp_path / "x.safetensors")], capsys)
    save_file({"wpe": ROWS}, tmp_path / "y.safetensors")
    assert "at least 3" in refusal([str(tmp_path / "y.safetensors"), "--rows", "2"], capsys)
    save_file({"wpe": ROWS * torch.nan}, tmp_path / "z.safetensors")
    assert "not finite" in refusal([str(tmp_path / "z.safetensors")], capsys)
