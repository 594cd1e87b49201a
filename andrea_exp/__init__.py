"""A laboratory for the embedding choices of a small decoder language model."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from andrea_exp.assemble import Run

__all__ = ["compose"]


def compose(*overrides: str) -> "Run":
    """One run from the words of a command line, such as `"position=rope"`, `"seed=3"`.

    `compose("system=toy").build_model()` is a plain torch module with its initial values.

    Raises:
        Refusal: an override is wrong; the message says what would work.
    """
    from andrea_exp.assemble import Run
    from andrea_exp.config.request import request

    return Run(request(overrides).config)
