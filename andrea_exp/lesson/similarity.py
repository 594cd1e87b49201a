"""Dot products and cosines of token rows: claims 13 and 14."""

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.evaluate.panel import panel
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, Value, above, equal, near
from andrea_exp.lesson.models import OTHERS, closeness_of_words

# Three, four, five: lengths and angles are whole numbers, and every product is exact.
ROWS = [
    [3.0, 4, 0, 0],
    [6.0, 8, 0, 0],
    [-3.0, -4, 0, 0],
    [-4.0, 3, 0, 0],
    [0.375, 0.5, 0, 0],
    [5.0, 0, 0, 0],
]
PAIRS = [("cat", other) for other in OTHERS]
DRAWS = 100


@torch.no_grad()
def products() -> Found:
    """Claim 13."""
    model = parts.composed(*parts.SMALL, "data.vocab=6", "model.d_model=4", "model.num_heads=1")
    decoder = parts.changed(model, output="tied").build_model()
    decoder.embedding.token_rows().copy_(torch.tensor(ROWS))
    scores = decoder.logits(torch.tensor([ROWS]))[0]
    names = "itself, twice itself, -itself, a right angle, an eighth, (5,0,0,0)"
    yield equal(f"(3,4,0,0) . {names}", scores[0].tolist(), [25.0, 50.0, -25.0, 0.0, 3.125, 15.0])
    lengths = [25.0, 100.0, 25.0, 25.0, 25 / 64, 25.0]
    yield equal("each with itself, its squared length", scores.diagonal().tolist(), lengths)
    cosine = panel(torch.tensor([ROWS[0], ROWS[5], ROWS[0]])).adjacent_cosine
    yield near("cosine of (3,4,0,0) and (5,0,0,0)", cosine or 0, 0.6, within=1e-15)
    yield equal("5 x 5 x .6", scores[0, 5].item(), 15.0)
    yield above("long at an angle, minus short and parallel", float(scores[0, 5] - scores[0, 4]), 0)


def before_training() -> Found:
    """Claim 14, the part that needs no training."""
    for width in (64, 768):
        for side, tables in _fresh(width).items():
            yield from _noise(tables, width=width, name=f"D {width}, {side} rows")


def _fresh(width: int) -> dict[str, Tensor]:
    """Input and output rows of the grammar's words from many seeds, (DRAWS, V, D) each."""
    config = parts.composed("data=grammar", "output=untied", "position=none", "model.num_layers=0")
    model = replace(config.recipe.model, d_model=width)
    decoder = parts.changed(config, model=model).build_model()
    sides = {
        "input": decoder.embedding.token_rows(),
        "output": decoder.output.rows(embedding=decoder.embedding),
    }
    draws: dict[str, list[Tensor]] = {side: [] for side in sides}
    for seed in range(DRAWS):
        decoder.initialise(seed)
        for side, table in sides.items():
            draws[side].append(table.detach().clone())
    return {side: torch.stack(tables) for side, tables in draws.items()}


def _noise(tables: Tensor, *, width: int, name: str) -> Iterator[Value]:
    """Cosines of the lesson's pairs over seeds: mean 0, deviation 1/sqrt(D)."""
    index = [[ENGLISH.words.index(word) for word in pair] for pair in PAIRS]
    left, right = torch.tensor(index).unbind(1)
    cosines = torch.cosine_similarity(tables[:, left], tables[:, right], dim=2)
    expected = width**-0.5
    # Four standard errors, of a mean and of a deviation from as many draws.
    means, spreads = cosines.mean(dim=0).tolist(), cosines.std(dim=0).tolist()
    zeros, same = [0.0] * len(PAIRS), [expected] * len(PAIRS)
    within = 4 * expected / DRAWS**0.5
    yield near(f"{name}: mean cosines", means, zeros, within=within)
    yield near(f"{name}: deviation", spreads, same, within=within / 2**0.5)


QUESTIONS = (
    Question(
        number=13,
        question="What does a dot product measure?",
        says="u . v = |u| |v| cos. Same direction: large positive; opposite: large negative; right "
        "angle: zero.",
        right="The direction fixes the sign alone; the size is the product of the lengths. A short "
        "vector in the same direction scores below a long one at an angle.",
        live=products,
    ),
    Question(
        number=14,
        question="Exercise: predict similarity. Are cat and dog close, cat and Tuesday far?",
        says="After training cat, dog and pet are close; cat, Tuesday and xylophone are nearly "
        "orthogonal.",
        right="Random rows are nearly orthogonal already (deviation 1/sqrt(D)), so that proves "
        "nothing: only the rise of related pairs does. And the matrices differ: input rows follow "
        "what comes after a word, output rows what comes before, and tied rows both, which may "
        "pull cat and xylophone together. One pair can invert; the means within and across "
        "classes of words are steadier. Pairs: "
        + ", ".join("/".join(pair) for pair in PAIRS)
        + ".",
        live=before_training,
        trained=closeness_of_words,
        by_training=True,
        command="python -m andrea_exp -m name=words data=grammar output=untied,tied "
        "seed=0,1,2,3,4,5",
    ),
)
