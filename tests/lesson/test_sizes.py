"""Sizes of tables and models, printed by the lesson or worked out from what it prints."""

import dataclasses
import functools

import pytest

import andrea_exp
from andrea_exp.assemble import Run
from andrea_exp.evaluate.ledger import Ledger, ledger
from tests import options

CHOICES = [
    ("untied", "learned"),
    ("untied", "sinusoidal"),
    ("tied", "learned"),
    ("tied", "sinusoidal"),
]
GAIN, BOTH = "model.norm.gain=true", "model.norm.gain=true model.norm.bias=true"
TOTALS = {  # in the order of CHOICES
    "andrea_12m": (12_780_288, 12_387_072, 11_895_168, 11_501_952),
    f"andrea_12m {GAIN}": (12_785_280, 12_392_064, 11_900_160, 11_506_944),
    f"andrea_12m {BOTH}": (12_790_272, 12_397_056, 11_905_152, 11_511_936),
    "andrea_12m model.vocab=4353": (14_353_152, 13_959_936, 12_681_600, 12_288_384),
    "andrea_120m": (98_698_752, 97_912_320, 92_209_920, 91_423_488),
    f"andrea_120m {GAIN}": (98_717_952, 97_931_520, 92_229_120, 91_442_688),
    f"andrea_120m {BOTH}": (98_737_152, 97_950_720, 92_248_320, 91_461_888),
    "andrea_480m": (505_678_848, 504_105_984, 480_118_272, 478_545_408),
    f"andrea_480m {GAIN}": (505_729_536, 504_156_672, 480_168_960, 478_596_096),
    f"andrea_480m {BOTH}": (505_780_224, 504_207_360, 480_219_648, 478_646_784),
    "andrea_480m model.vocab=8449": (480_513_024, 478_940_160, 467_535_360, 465_962_496),
    "microgpt": (4_192, 3_936, 3_760, 3_504),
    "microgpt model.context=8": (4_064, 3_936, 3_632, 3_504),
    "nanogpt": (163_007_232, 162_220_800, 124_373_760, 123_587_328),
    "nanogpt_shakespeare": (10_770_048, 10_671_744, 10_745_088, 10_646_784),
    "gpt2": (163_037_184, 162_250_752, 124_439_808, 123_653_376),
}


@functools.cache
def composed(words: str) -> Run:
    return andrea_exp.compose(*f"system={words}".split())


def counted(words: str, *, output: str | None = None, position: str | None = None) -> Ledger:
    """The ledger of a system with these changes, from a model that is never allocated."""
    config = composed(words).config
    recipe = config.recipe
    if output is not None:
        recipe = dataclasses.replace(recipe, output=options.output(output))
    if position is not None:
        recipe = dataclasses.replace(recipe, position=options.position(position))
    run = Run(dataclasses.replace(config, recipe=recipe))
    model = run.build_model(vocab=27, allocate=False)
    assert all(parameter.is_meta for parameter in model.parameters())
    return ledger(model, nominal=None, moments=2)


@pytest.mark.parametrize("words", TOTALS)
def test_a_total_is_the_one_that_was_worked_out(words: str):
    found = [counted(words, output=output, position=scheme).total for output, scheme in CHOICES]
    assert tuple(found) == TOTALS[words]


@pytest.mark.parametrize(
    ("words", "size"),
    [
        ("andrea_480m", 25_560_576),
        ("andrea_12m model.vocab=4353", 1_671_552),
        ("andrea_12m", 885_120),
        ("andrea_120m", 6_488_832),
    ],
)
def test_a_token_table_has_the_size_of_the_exercise(words: str, size: int):
    assert counted(words).token_embedding == size


def test_the_two_tables_of_the_example_make_the_embedding_layer():
    found = counted("andrea_120m")
    assert found.position == 786_432
    assert found.token_embedding + found.position == 7_275_264


@pytest.mark.parametrize(
    ("scheme", "trained", "fixed"),
    [
        ("learned", 786_432, 0),
        ("sinusoidal", 0, 786_432),
        ("rope", 0, 0),
        ("alibi", 0, 0),
        ("none", 0, 0),
    ],
)
def test_a_scheme_adds_its_rows_and_nothing_else(scheme: str, trained: int, fixed: int):
    found = counted("andrea_120m", position=scheme)
    assert found.total == 97_912_320 + trained
    assert (found.position, found.buffers) == (trained, fixed)


@pytest.mark.parametrize(
    ("words", "saved", "percent"),
    [
        ("andrea_12m", 885_120, 6.926),
        ("andrea_120m", 6_488_832, 6.574),
        ("andrea_480m", 25_560_576, 5.055),
        ("gpt2", 38_597_376, 23.674),
    ],
)
def test_tying_saves_one_table(words: str, saved: int, percent: float):
    untied, tied = (counted(words, output=output).total for output in ("untied", "tied"))
    assert untied - tied == saved
    assert round(100 * saved / untied, 3) == percent
