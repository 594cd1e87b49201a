"""A wrong request is one message that names key, value and remedy, status 2, and nothing else."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from andrea_exp import cost, job
from andrea_exp.__main__ import main
from andrea_exp.report import __main__ as report
from tests.commands import tiny

Said = pytest.CaptureFixture[str]
Command = Callable[[Sequence[str]], int]

UNKNOWN = {
    "postion=rope": ["postion=rope", "did you mean position"],
    "+postion=rope": ["postion=rope", "did you mean position"],
    "++optimizer.lrr=1": ["optimizer.lrr=1", "did you mean optimizer.lr"],
    "+trainer.max_step=1": ["trainer.max_step=1", "did you mean trainer.max_steps"],
    "position=leaned": ["position=leaned", "did you mean learned", "alibi, learned"],
    "position=null": ["position=null", "options: alibi"],
    "position=3": ["position=3", "options: alibi"],
    "system=[toy,gpt2]": ["system=[toy,gpt2]", "options: andrea_120m"],
    "experiment=past_t": ["experiment=past_t", "did you mean past_T"],
    "kernel/attention=tirton": ["kernel/attention=tirton", "options: "],
    "+position=rope": ["+position=rope", "leave out the +"],
    "hydra.run.dir=x": ["hydra.run.dir=x", "outputs="],
    "hydra/launcher=joblib": ["hydra/launcher=joblib", "add -m"],
    "resume=true rerun=true": ["resume=true", "rerun=true", "give one"],
    "position.name=rope": ["position.name=rope", "position="],
    "position@model=rope": ["position@model=rope", "leave out @model"],
    "~seed": ["~seed", "leave it out"],
    "~position": ["~position", "leave it out"],
    "=3": ["=3", "--help"],
    "position": ["position", "cannot read"],
    "name=${nowhere}": ["name", "nowhere"],
}
TYPES = {
    "trainer.max_steps=ten": ["trainer.max_steps=ten", "Integer"],
    "trainer.max_steps=1e20": ["trainer.max_steps=1e+20", "Integer"],
    "trainer.max_steps=1.5": ["trainer.max_steps=1.5", "Integer"],
    "seed=true": ["seed=True", "Integer"],
    "model.compile=maybe": ["model.compile=maybe", "bool"],
    "evaluation.length_factors={a:2}": ["evaluation.length_factors={a:2}"],
    "evaluation.length_factors=[1,two]": ["evaluation.length_factors=[1, 'two']", "Float"],
    "evaluation.beyond=[clmap]": ["evaluation.beyond", "clmap", "clamp, wrap"],
    "position.beyond=clmap": ["position.beyond=clmap", "clamp, wrap"],
    "model.norm.kind=batch": ["model.norm.kind=batch", "[layer, rms]"],
    "runtime.device=tpu": ["runtime.device=tpu", "[cpu, cuda]"],
    "name=null": ["name=None", "str"],
    "name=-m": ["name", "leading dot or dash", "'-m'"],
}
RANGES = {
    "optimizer.lr=nan": ["optimizer.lr", "above 0", "nan"],
    "optimizer.lr=0": ["optimizer.lr", "above 0", "0"],
    "optimizer.lr=inf": ["optimizer.lr", "above 0", "inf"],
    "model.context=0": ["model.context", "at least 1", "0"],
    "model.context=-3": ["model.context", "at least 1", "-3"],
    "model.dropout=1": ["model.dropout", "below 1", "1"],
    "trainer.max_steps=0": ["trainer.max_steps", "at least 1", "0"],
    "runtime.threads=0": ["runtime.threads", "at least 1", "0"],
    "runtime.threads=100000": ["runtime.threads", "at most 1024", "100000"],
    "runtime.workers=100000": ["runtime.workers", "at most 256", "100000"],
    f"trainer.max_steps={10**20}": ["trainer.max_steps", "at most 1000000000, got", str(10**20)],
    f"trainer.max_steps={10**400}": ["trainer.max_steps", "at most 1000000000, got"],
    f"model.d_model={10**20}": ["model.d_model", "at most 1e+06", str(10**20)],
    f"model.vocab={10**12}": ["model.vocab", "at most 1000000000, got", str(10**12)],
    f"data.validation_tokens={10**12}": ["data.validation_tokens", "at most 1e+08", str(10**12)],
    "evaluation.length_factors=[1e20]": ["evaluation.length_factors", "at most 1e+06", "1e+20"],
    "seed=-1": ["seed", "at least 0", "-1"],
    "seed=9223372036854775808": ["seed", "at most", "9223372036854775808"],
    "evaluation.beyond=[clamp,clamp]": ["evaluation.beyond=[clamp, clamp]", "each once"],
    "evaluation.stride_share=0": ["evaluation.stride_share", "above 0", "at most 1"],
    "evaluation.tail_share=-0.5": ["evaluation.tail_share", "above 0", "-0.5"],
    "evaluation.tail_share=1.5": ["evaluation.tail_share", "at most 1", "1.5"],
    "evaluation.length_factors=[1,-2]": ["evaluation.length_factors", "above 0", "-2"],
    "evaluation.length_factors=[0.3]": ["length_factors", "0.3", "2.4", "whole numbers"],
    "evaluation.probe_every_steps=0": ["evaluation.probe_every_steps", "at least 1", "0"],
    "evaluation.probe_targets=0": ["evaluation.probe_targets", "at least 1", "0"],
    "evaluation.shuffles=199": ["evaluation.shuffles", "at least 200", "199"],
    "model.feedforward.ratio=0.3": ["model.feedforward.ratio=0.3", "4.8", "whole number"],
    "optimizer.schedule.warmup_steps=5": ["warmup_steps=5", "max_steps=4", "shorten"],
    "name=a/b": ["name", "'a/b'", "slash"],
    "name=..": ["name", "'..'", "dot"],
}
COMBINATIONS = {
    "position=sinusoidal model.d_model=15 model.num_heads=1": ["position=sinusoidal", "even", "15"],
    "position=rope model.d_model=14": ["position=rope", "even", "7 ", "model.num_heads=2"],
    "model.num_heads=3": ["model.num_heads=3", "d_model=16"],
    "position.rows=4": ["position.rows=4", "model.context=8", "null"],
    "position=rope position.rows=9": ["unknown key position.rows=9", "position=learned ("],
    "position=rope position.beyond=clamp": [
        "unknown key position.beyond=clamp: position=rope has no such key; it belongs to",
        "position=learned (A trained table,",
    ],
    "data.path=book.txt": ["data.path=book.txt: data=noise has", "data=hub (", "data=text (Your"],
    "position.nam=rope": ["unknown key position.nam=rope; did you mean position or"],
    "model.d_model=100000": ["blocks 240,000,000,000", "model.d_model=100000", "GB of memory here"],
    "model.vocab=1000000000": ["token_embedding 16,000,000,000", "GB of memory here"],
    "position.rows=1000000000": ["position 16,000,000,000", "GB of memory here"],
    "data.batch_size=1000000000": ["one batch of 8,000,000,000 tokens", "GB of memory here"],
    "embedding=factorized embedding.rank=16": ["embedding.rank=16", "d_model=16", "table"],
    "model.vocab=10": ["model.vocab=10", "11 ids", "data=", "model.vocab=null"],
    "data.validation_tokens=8": ["data.validation_tokens=8", "model.context=8", "raise"],
    "runtime=gpu": ["runtime.device=cuda", "runtime=cpu"],
    "runtime.devices=3": ["runtime.devices=3", "data.batch_size=32"],
    "trainer.log_every_steps=4 evaluation.probe_every_steps=6": [
        *("evaluation.probe_every_steps=6", "trainer.log_every_steps=4", "choose 8", "null"),
    ],
    "experiment=past_T": ["experiment=past_T", "position and seed", "add -m"],
    "position=rope,alibi": ["position=rope,alibi", "add -m"],
    "seed=range(3)": ["seed=range(3)", "add -m"],
    "position=glob(*)": ["position=glob(*)", "add -m"],
    "resume=true": ["resume=true", "outputs/runs", "no unfinished run"],
}
GRIDS = {
    "seed=null": ["seed=null", "-m", "seed=0,1,2"],
    "resume=true seed=0,1": ["resume=true", "-m", "the same sweep command"],
    "name=one,other": ["outputs/one", "outputs/other", "name="],
    "position=leaned,rope": ["position=leaned", "did you mean learned"],
    "position=sinusoidal,rope model.d_model=15 model.num_heads=1": ["position=sinusoidal", "15"],
    "seed=0,0": ["same run", "seed=0", "each value once"],
    "seed=range(0,0)": ["grid is empty"],
    "seed=0,1 runtime=gpu": ["runtime.device=cuda", "runtime=cpu"],
    "hydra/launcher=elsewhere seed=0,1": ["hydra/launcher", "elsewhere", "basic"],
    "hydra/launcher=nix seed=0,1": ["hydra/launcher/nix", "basic", "joblib", "slurm"],
    "hydra.sweep.dir=x seed=0,1": ["hydra.sweep.dir=x", "outputs="],
    "hydra/launcher=joblib hydra.launcher.jobs=2 seed=0,1": ["hydra.launcher.jobs"],
    "optimizer.lr=interval(0,1)": ["INTERVAL"],
    "postion=rope seed=0,1": ["postion=rope", "did you mean position"],
}


def refused(command: Command, words: Sequence[str], *, place: Path, said: Said) -> str:
    """The one line of a refusal that left nothing behind."""
    before = tiny.files(place)
    assert command(words) == 2
    captured = said.readouterr()
    assert captured.out == ""
    assert tiny.files(place) == before
    assert sorted(place.iterdir()) == sorted(place / name for name in before)
    (line,) = captured.err.splitlines()
    assert line.startswith("andrea_exp: ")
    return line


@pytest.mark.parametrize("request_", [*UNKNOWN, *TYPES, *RANGES, *COMBINATIONS])
def test_a_wrong_run_is_refused_in_one_line(request_: str, place: Path, capsys: Said) -> None:
    parts = (UNKNOWN | TYPES | RANGES | COMBINATIONS)[request_]
    line = refused(main, [*tiny.WORDS, *request_.split()], place=place, said=capsys)
    for part in parts:
        assert part in line


@pytest.mark.parametrize("request_", GRIDS)
def test_a_wrong_sweep_is_refused_in_one_line(request_: str, place: Path, capsys: Said) -> None:
    line = refused(main, [*tiny.WORDS, *request_.split(), "-m"], place=place, said=capsys)
    for part in GRIDS[request_]:
        assert part in line


@pytest.mark.parametrize(
    ("system", "parts"),
    [
        ("microgpt", ["model.vocab=27", "data=", "model.vocab=null"]),
        ("nanogpt_shakespeare_cpu", ["model.vocab=65", "data=", "model.vocab=null"]),
    ],
)
def test_a_systems_vocabulary_that_the_data_exceed_is_refused(
    system: str, parts: list[str], place: Path, capsys: Said
) -> None:
    line = refused(main, [f"system={system}", *tiny.RUNNING], place=place, said=capsys)
    for part in parts:
        assert part in line


def test_a_file_in_the_place_of_the_outputs_is_named(place: Path, capsys: Said) -> None:
    (place / "taken").write_text("mine")
    line = refused(main, [*tiny.WORDS, "outputs=taken"], place=place, said=capsys)
    assert "cannot write to taken/runs: taken is not a folder" in line
    assert "outputs=" in line
    line = refused(main, [*tiny.WORDS, "outputs=taken", "seed=0,1", "-m"], place=place, said=capsys)
    assert "taken is not a folder" in line


@pytest.mark.parametrize(
    ("command", "words", "parts"),
    [
        (cost.main, "position=leaned", ["position=leaned", "learned"]),
        (cost.main, "trainer.max_steps=0", ["trainer.max_steps", "at least 1"]),
        (cost.main, "model.vocab=5", ["model.vocab=5", "model.vocab=null"]),
        (cost.main, "position=rope,alibi", ["position=rope,alibi"]),
        (job.main, "nowhere", ["nowhere is not a run directory", "is not a folder"]),
        (job.main, ".", [". is not a run directory", "config.yaml"]),
        (report.main, "nowhere", ["nowhere does not exist"]),
        (report.main, ".", [". holds no run", "give a run directory"]),
    ],
)
def test_the_other_commands_refuse_in_the_same_way(
    command: Command, words: str, parts: list[str], place: Path, capsys: Said
) -> None:
    line = refused(command, words.split(), place=place, said=capsys)
    for part in parts:
        assert part in line


def test_a_report_is_not_written_over_a_folder(place: Path, finished: Path, capsys: Said) -> None:
    line = refused(report.main, [str(finished), "--output", "."], place=place, said=capsys)
    assert "cannot write .: it is a folder" in line


@pytest.mark.parametrize(
    ("command", "words", "part"),
    [
        (main, "--foo", "--foo"),
        (cost.main, "-m seed=0,1", "-m"),
        (cost.main, "--jsn", "--jsn"),
        (job.main, "", "directory"),
        (job.main, "one two", "two"),
        (report.main, "", "DIR"),
    ],
)
def test_a_wrong_flag_shows_the_usage(
    command: Command, words: str, part: str, place: Path, capsys: Said
) -> None:
    with pytest.raises(SystemExit) as stop:
        command(words.split())
    assert stop.value.code == 2
    captured = capsys.readouterr().err
    assert captured.startswith("usage: python -m andrea_exp")
    assert part in captured
    assert tiny.files(place) == set()


def test_the_process_exits_with_2_and_without_a_traceback(place: Path) -> None:
    with tiny.start(place, "postion=rope") as process:
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("andrea_exp: unknown key postion=rope")
    assert len(err.splitlines()) == 1
    assert tiny.files(place) == set()
