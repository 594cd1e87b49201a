"""All claims in the order in which the lessons make them."""

from collections.abc import Iterator

from andrea_exp.lesson import (
    gradients,
    kernels,
    learned,
    lookup,
    order,
    quality,
    similarity,
    sinusoid,
    sizes,
    start,
)
from andrea_exp.lesson.claim import Claim, Question, measured
from andrea_exp.report.table import Table


def questions() -> list[Question]:
    """Every claim, by number."""
    groups = (
        lookup,
        sizes,
        sinusoid,
        learned,
        similarity,
        gradients,
        order,
        start,
        kernels,
        quality,
    )
    return sorted(
        (question for group in groups for question in group.QUESTIONS),
        key=lambda question: question.number,
    )


def claims(runs: Table | None) -> Iterator[Claim]:
    """Each claim, measured when its turn comes.

    Args:
        runs: records for what training decides, if there are any.
    """
    for question in questions():
        yield measured(question, runs)
