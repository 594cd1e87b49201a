"""How large tables and models are, none of them allocated: claims 3, 4, 5 and 21."""

from dataclasses import replace
from typing import NamedTuple

from andrea_exp.assemble import Run
from andrea_exp.evaluate.ledger import Ledger
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, equal, near
from andrea_exp.lesson.quality import losses_by_output
from andrea_exp.model.config import ModelConfig

FOUR = (
    ("untied", "learned"),
    ("untied", "sinusoidal"),
    ("tied", "learned"),
    ("tied", "sinusoidal"),
)
"""The columns of `TOTALS`: a sinusoid stands for every scheme without parameters."""


class Totals(NamedTuple):
    """A preset, possibly with another vocabulary, context or norm, and its four totals."""

    system: str
    expected: list[int]
    vocab: int | None = None
    context: int | None = None
    gain: bool | None = None
    bias: bool | None = None

    @property
    def name(self) -> str:
        """The preset with what is changed."""
        changes = {"V": self.vocab, "T": self.context}
        words = [f"{key} {size}" for key, size in changes.items() if size]
        norm = " and ".join(key for key in ("gain", "bias") if getattr(self, key))
        return ", ".join([self.system, *words, *([f"norm {norm}"] if norm else [])])

    def run(self) -> Run:
        """The preset with these changes."""
        config = parts.composed(f"system={self.system}")
        return parts.changed(config, model=self._model(config.recipe.model))

    def _model(self, model: ModelConfig) -> ModelConfig:
        norm = model.norm
        return replace(
            model,
            vocab=self.vocab or model.vocab,
            context=self.context or model.context,
            norm=replace(
                norm,
                gain=norm.gain if self.gain is None else self.gain,
                bias=norm.bias if self.bias is None else self.bias,
            ),
        )


# Worked out by V D [+ V D untied] [+ T D learned] + 12 L D^2 + norms + biases, apart from the code.
TOTALS = (
    Totals("andrea_12m", [12_780_288, 12_387_072, 11_895_168, 11_501_952]),
    Totals("andrea_12m", [12_785_280, 12_392_064, 11_900_160, 11_506_944], gain=True),
    Totals("andrea_12m", [12_790_272, 12_397_056, 11_905_152, 11_511_936], gain=True, bias=True),
    Totals("andrea_12m", [14_353_152, 13_959_936, 12_681_600, 12_288_384], vocab=4353),
    Totals("andrea_120m", [98_698_752, 97_912_320, 92_209_920, 91_423_488]),
    Totals("andrea_120m", [98_717_952, 97_931_520, 92_229_120, 91_442_688], gain=True),
    Totals("andrea_120m", [98_737_152, 97_950_720, 92_248_320, 91_461_888], gain=True, bias=True),
    Totals("andrea_480m", [505_678_848, 504_105_984, 480_118_272, 478_545_408]),
    Totals("andrea_480m", [505_729_536, 504_156_672, 480_168_960, 478_596_096], gain=True),
    Totals(
        "andrea_480m", [505_780_224, 504_207_360, 480_219_648, 478_646_784], gain=True, bias=True
    ),
    Totals("andrea_480m", [480_513_024, 478_940_160, 467_535_360, 465_962_496], vocab=8449),
    Totals("microgpt", [4_192, 3_936, 3_760, 3_504]),
    Totals("microgpt", [4_064, 3_936, 3_632, 3_504], context=8),
    Totals("nanogpt", [163_007_232, 162_220_800, 124_373_760, 123_587_328]),
    Totals("nanogpt_shakespeare", [10_770_048, 10_671_744, 10_745_088, 10_646_784]),
    Totals("gpt2", [163_037_184, 162_250_752, 124_439_808, 123_653_376]),
)


def tables() -> Found:
    """Claim 3."""
    for totals, size in (
        (Totals("andrea_480m", []), 25_560_576),
        (Totals("andrea_12m", [], vocab=4353), 1_671_552),
        (Totals("andrea_12m", []), 885_120),
        (Totals("andrea_120m", []), 6_488_832),
    ):
        run = totals.run()
        shape = f"{run.recipe.model.vocab:,} x {run.recipe.model.d_model:,}"
        found = parts.counted(run).token_embedding
        yield equal(f"{totals.name}: {shape} token rows", found, size)
    example = parts.counted(Totals("andrea_120m", []).run())
    yield equal("andrea_120m: 1,024 x 768 position rows", example.position, 786_432)
    both = example.token_embedding + example.position
    yield equal("andrea_120m: embedding layer", both, 7_275_264)


def models() -> Found:
    """Claim 4."""
    for totals in TOTALS:
        config = totals.run().config
        found = [
            parts.counted(parts.changed(config, position=position, output=output)).total
            for output, position in FOUR
        ]
        yield equal(totals.name, found, totals.expected)
    example = parts.counted(Totals("andrea_120m", []).run())
    shares = {"token table": 6.574, "positions": 0.797, "blocks": 86.054, "output": 6.574}
    for share, (name, percent) in zip(_shares(example), shares.items(), strict=True):
        yield near(f"{name}, % of 98,698,752", share, percent, within=5e-4)
    nominal = example.fraction.of_nominal
    assert nominal is not None
    both = 100 * (nominal.token_embedding + nominal.position)
    yield near("embedding layer, % of 120,000,000", both, 6.063, within=5e-4)


def _shares(counted: Ledger) -> list[float]:
    shares = counted.fraction.of_total
    parts_of_it = (shares.token_embedding, shares.position, shares.blocks, shares.output)
    return [100 * share for share in parts_of_it]


def positions() -> Found:
    """Claim 5."""
    config = parts.composed("system=andrea_120m")
    bare = 2 * 8_449 * 768 + 12 * 12 * 768**2
    for option, trained, fixed in (
        ("learned", 786_432, 0),
        ("sinusoidal", 0, 786_432),
        ("rope", 0, 0),
        ("alibi", 0, 0),
        ("none", 0, 0),
    ):
        found = parts.counted(parts.changed(config, position=option))
        yield equal(f"{option}: parameters", found.position, trained)
        yield equal(f"{option}: total", found.total, bare + trained)
        yield equal(f"{option}: elements of buffers", found.buffers, fixed)


def tying() -> Found:
    """Claim 21, the part that needs no training."""
    for system, saved, percent in (
        ("andrea_12m", 885_120, 6.926),
        ("andrea_120m", 6_488_832, 6.574),
        ("andrea_480m", 25_560_576, 5.055),
        ("gpt2", 38_597_376, 23.674),
    ):
        config = parts.composed(f"system={system}")
        untied, tied = (
            parts.counted(parts.changed(config, output=output)).total
            for output in ("untied", "tied")
        )
        yield equal(f"{system}: saved by tying", untied - tied, saved)
        share = 100 * (untied - tied) / untied
        yield near(f"{system}: % of the untied total", share, percent, within=5e-4)


QUESTIONS = (
    Question(
        number=3,
        question="Exercise: how large are the tables?",
        says="V x D and T x D: 16,641 x 1,536, 4,353 x 384, 8,449 x 768 and 1,024 x 768.",
        right="6.49M + 0.79M is printed as 7.27M; 7,275,264 rounds to 7.28M. And V 4,353 "
        "contradicts the 12.8M of the model's own card, which needs V 2,305, untied.",
        live=tables,
    ),
    Question(
        number=4,
        question="How large is the model, and what share have the embeddings?",
        says="About 120M parameters; token table 5.4 %, embedding layer 6 %, and 94 % in the "
        "blocks.",
        right="98,698,752, which is 21,301,248 short of the name: the percentages are of a nominal "
        "120M. Of the real total the token table has 6.574 %, positions .797 %, blocks 86.054 %, "
        "and the untied output, which the lesson forgets, another 6.574 %. At these sizes 98.7M "
        "fits an untied output alone, though a sister lesson scores with the token table; that "
        "there are no biases is an assumption. nanoGPT prints totals without positions. "
        "Columns: untied learned, untied without a table, tied learned, tied without.",
        live=models,
    ),
    Question(
        number=5,
        question="What do positions cost?",
        says="A learned table adds T D parameters, a sinusoid none.",
        right="Parameters are not the whole cost: the sinusoid keeps a buffer of as many numbers, "
        "3,145,728 bytes at 1,024 x 768. RoPE, ALiBi and no positions keep nothing.",
        live=positions,
    ),
    Question(
        number=21,
        question="What does tying save, and is it better?",
        says="Tied output (GPT-2) saves V D parameters and often improves quality; ANDREA trains "
        "two matrices.",
        right="A tied matrix counts once however many names it has. ANDREA has its positions from "
        "nanoGPT and GPT-2, and not its output: they are tied, microGPT is not. Quality is a "
        "measurement: paired by seed, with nothing but the output different.",
        live=tying,
        trained=losses_by_output,
        command="python -m andrea_exp -m name=tying output=tied,untied seed=0,1,2,3,4,5",
    ),
)
