"""What the lookup does, and the demo of the lesson's four classes: claims 1, 2 and 6."""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from andrea_exp.embedding.table import Table
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, Value, equal, near
from andrea_exp.model.decoder import Decoder

VOCAB, ROWS, BATCH, LENGTH = 320, 128, 4, 32
"""Of the demo."""


def table(width: int) -> Table:
    """The demo's token table, drawn."""
    embed = parts.composed().recipe.kernel.build().embedding
    built = Table(vocab=VOCAB, width=width, std=parts.TOKEN_SCALE, kernel=embed)
    built.initialise(torch.Generator().manual_seed(11))
    return built


def some_ids() -> Tensor:
    """Ids (B, T) of the demo's size, the first and the last one among them."""
    ids = torch.randint(VOCAB, (BATCH, LENGTH), generator=torch.Generator().manual_seed(11))
    ids[0, 0], ids[-1, -1] = 0, VOCAB - 1
    return ids


def lookup() -> Found:
    """Claim 1."""
    tokens, ids = table(64), some_ids()
    found = tokens(ids, None).detach()
    product = F.one_hot(ids, VOCAB).to(found.dtype) @ tokens.weight.detach()
    yield equal("numbers unlike one-hot product", _differing(found, product), 0)
    for wrong in (-1, VOCAB):
        message = parts.refusal(lambda wrong=wrong: tokens(torch.full((1, 1), wrong), None))
        yield equal(
            f"id {wrong} of V = {VOCAB}",
            message,
            f"token id {wrong} is outside 0..{VOCAB - 1}, the rows of the token table",
        )


def _differing(found: Tensor, expected: Tensor) -> int:
    return int((found != expected).sum())


def shapes() -> Found:
    """Claim 2."""
    ids = torch.tensor([[3, 0, 18, 3, 5], [7, 7, 1, 2, 0], [18, 17, 16, 15, 14]])
    for position in parts.schemes():
        for output in parts.outputs():
            run = parts.changed(parts.composed(*parts.SMALL), position=position, output=output)
            yield from _sum(run.build_model(), ids, name=f"{position}, {output}")


@torch.no_grad()
def _sum(model: Decoder, ids: Tensor, *, name: str) -> Iterator[Value]:
    stream = model.states(ids)[0]
    tokens, rows = model.embedding.token_rows(), model.position.table()
    different = 0
    for sequence, vectors in zip(ids.tolist(), stream, strict=True):
        for place, (token, vector) in enumerate(zip(sequence, vectors, strict=True)):
            expected = tokens[token] if rows is None else tokens[token] + rows[place]
            different += _differing(vector, expected)
    found = [*stream.shape, different]
    yield equal(f"{name}: B, T, D, and numbers off", found, [3, 5, 12, 0])


def demo() -> Found:
    """Claim 6."""
    for width, counts in ((64, [20_480, 8_192, 0]), (32, [10_240, 4_096, 0])):
        tokens = table(width)
        schemes = [parts.scheme(name, rows=ROWS, width=width) for name in _DEMO]
        found = [parts.parameters(part) for part in (tokens, *schemes)]
        yield equal(f"D {width}: parameters of token, learned, sinusoid", found, counts)
        for name, scheme in zip(_DEMO, schemes, strict=True):
            vectors = tokens(some_ids(), parts.rows_of(scheme, LENGTH).float())
            shape = list(vectors.shape)
            yield equal(f"D {width}, {name}: (B, T, D)", shape, [BATCH, LENGTH, width])
    yield from past_the_table(ROWS)


_DEMO = ("learned", "sinusoidal_raw")


def past_the_table(rows: int) -> Iterator[Value]:
    """What the demo's two position tables do one position past their last row."""
    learned, sinusoid = (parts.scheme(name, rows=rows, width=64) for name in _DEMO)
    message = parts.refusal(lambda: learned.rows(parts.first(rows + 1)))
    asked = f"a sequence of {rows + 1} exceeds the {rows} trained positions of `learned`; "
    policies = "clamp, wrap, interpolate, zero, mean, fresh, window"
    rest = f"shorten it, or choose a policy with position.beyond ({policies})"
    yield equal(f"learned, length {rows + 1}", message, asked + rest)
    row = parts.rows_of(sinusoid, rows + 1)[rows, 0].item()
    yield near(f"sinusoid, row {rows}, first feature: sin {rows}", row, math.sin(rows), within=1e-9)


QUESTIONS = (
    Question(
        number=1,
        question="Is an embedding more than array access?",
        says="An embedding is a table: id i selects row i, with no arithmetic.",
        right="So it is. The product with one-hot rows gives the same bits, and ids outside "
        "0..V-1 have no row: the lesson leaves those to the framework, here they are refused.",
        live=lookup,
    ),
    Question(
        number=2,
        question="What goes into the first block?",
        says="Ids (B, T) become vectors (B, T, D): token row plus position row, the same rows in "
        "every sequence.",
        right="RoPE and ALiBi do not add a row at all (claim 25); so their vectors are the token "
        "rows alone.",
        live=shapes,
    ),
    Question(
        number=6,
        question="What does the demo count and refuse?",
        says="With V 320, D 64 and tables of 128 rows a learned table adds M D parameters and a "
        "sinusoid none; both raise past their last row.",
        right="The text speaks of three modules; there are four classes. Refusing length 129 is "
        "that sinusoid's choice: the formula reaches any row, and here it is computed. An odd "
        "width is refused here too, not padded.",
        live=demo,
    ),
)
