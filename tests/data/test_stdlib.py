"""The standard library's source as training text."""

import hashlib
import sysconfig
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from omegaconf import OmegaConf

from andrea_exp.component import Refusal
from andrea_exp.data.corpus import Corpus
from andrea_exp.data.modules import STDLIB_FILES
from andrea_exp.data.stdlib import StdlibConfig, read_sources
from andrea_exp.tokenizer.bytes import BytesConfig
from andrea_exp.tokenizer.chars import CharsConfig

CONF = OmegaConf.load(Path(__file__).parents[2] / "conf" / "data" / "stdlib.yaml")
FOLDER = Path(sysconfig.get_path("stdlib"))
config = StdlibConfig(
    name="stdlib", batch_size=32, validation_share=float(OmegaConf.select(CONF, "validation_share"))
)
bytes_config = BytesConfig(name="bytes")


@pytest.fixture(scope="module")
def data() -> Corpus:
    return config.load(tokenizer=bytes_config, context=64)


def texts_of(tokens: npt.NDArray[np.int64]) -> list[str]:
    """The documents of a token array, cut at the beginnings."""
    tokenizer = bytes_config.fit([])
    pieces = np.split(tokens, np.flatnonzero(tokens == tokenizer.bos))
    assert len(pieces[0]) == 0  # there is a beginning before everything else
    return [tokenizer.decode(piece) for piece in pieces[1:]]


def file_text(name: str) -> str:
    return (FOLDER / name).read_bytes().decode("utf-8")


def test_the_list_has_320_files_without_tests_or_the_modules_left_out():
    assert len(set(STDLIB_FILES)) == 320
    assert {"abc.py", "json/encoder.py", "xml/etree/ElementTree.py"} <= set(STDLIB_FILES)
    left_out = {"turtle.py", "opcode.py", "this.py", "antigravity.py", "html/entities.py"}
    changed = {"pathlib.py", "zipfile.py", "sysconfig.py"}
    assert not (left_out | changed) & set(STDLIB_FILES)
    assert not [name for name in STDLIB_FILES if {"test", "tests"} & set(Path(name).parts)]


def test_a_file_is_one_document_on_one_side_with_its_line_ends(data: Corpus):
    sides = {True: texts_of(data.validation()), False: texts_of(data.training_sample())}
    for side, texts in sides.items():
        names = [name for name in STDLIB_FILES if config.is_validation(name) is side]
        assert texts == [file_text(name) for name in names]
    assert len(sides[True]) + len(sides[False]) == 320


def test_no_validation_text_of_more_than_a_line_is_training_text(data: Corpus):
    training = set(texts_of(data.training_sample()))
    validation = [text for text in texts_of(data.validation()) if text.count("\n") > 1]
    assert len(validation) > 30
    assert not training.intersection(validation)


def assert_the_name_decides(is_validation: Callable[[str], bool]):
    for name in STDLIB_FILES:
        number = Fraction(int(hashlib.sha256(name.encode()).hexdigest()[:16], 16), 16**16)
        assert is_validation(name) == (number < Fraction(config.validation_share))


def test_the_name_alone_decides_the_side():
    assert_the_name_decides(config.is_validation)


def test_a_split_by_order_would_be_caught():
    with pytest.raises(AssertionError):
        assert_the_name_decides(lambda name: STDLIB_FILES.index(name) % 10 == 0)


def test_the_share_of_the_text_comes_near_the_share_of_the_files(data: Corpus):
    validation = len(data.validation())
    share = validation / (validation + data.train_tokens)
    assert share == pytest.approx(config.validation_share, rel=0.25)


@pytest.mark.parametrize("bos", [True, False])
def test_every_validation_character_occurs_in_training(bos: bool):
    data = config.load(tokenizer=CharsConfig(name="chars", bos=bos), context=64)
    assert 200 < data.vocab < 230


def test_a_python_without_sources_is_refused_with_what_would_work(tmp_path: Path):
    with pytest.raises(Refusal, match=r"lacks 320 of the 320 .* such as data=noise"):
        read_sources(tmp_path)


def test_one_missing_file_is_refused_by_name(tmp_path: Path):
    for name in STDLIB_FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "json" / "encoder.py").unlink()
    with pytest.raises(Refusal, match=r"lacks 1 of the 320 .*json.encoder\.py"):
        read_sources(tmp_path)


def test_text_without_a_tokenizer_is_refused():
    with pytest.raises(Refusal, match="tokenizer="):
        config.load(tokenizer=None, context=64)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_that_leaves_one_side_empty_is_refused(share: float):
    with pytest.raises(ValueError, match="validation_share must be above 0 and below 1"):
        StdlibConfig(name="stdlib", batch_size=32, validation_share=share)


def test_text_brings_no_ids_of_its_own():
    assert not StdlibConfig.has_own_ids()
    assert config.known_size() is None
