"""A broken product: exactly the claims that speak of what is broken fail."""

from collections.abc import Callable

import pytest
import torch
from jaxtyping import config as shape_checks
from torch import Tensor

from andrea_exp.kernel.embedding import sinusoid
from andrea_exp.kernel.embedding import torch as embedding_kernel
from andrea_exp.lesson.claim import Verdict
from andrea_exp.lesson.claims import claims
from andrea_exp.model import decoder
from andrea_exp.optimizer.base import OptimizerConfig
from andrea_exp.output import tied
from andrea_exp.output.untied import Untied
from andrea_exp.position import learned, sinusoidal
from andrea_exp.position.base import Positions
from andrea_exp.position.none import NonePosition
from andrea_exp.position.rope import Rope
from andrea_exp.shapes import Sizes

Patch = pytest.MonkeyPatch


def sine_and_cosine_swapped(patch: Patch) -> None:
    true = sinusoid.sinusoid

    def swapped(index: Tensor, *, width: int, base: float) -> Tensor:
        rows = true(index, width=width, base=base)
        return rows.unflatten(1, (-1, 2)).flip(2).flatten(1)

    patch.setattr(sinusoid, "sinusoid", swapped)


def wavelengths_of_another_base(patch: Patch) -> None:
    true = sinusoid.sinusoid

    def shorter(index: Tensor, *, width: int, base: float) -> Tensor:
        return true(index, width=width, base=base / 2)

    patch.setattr(sinusoid, "sinusoid", shorter)


def a_learned_row_too_many(patch: Patch) -> None:
    true = learned.Learned.__init__

    def longer(self: learned.Learned, *, rows: int, **rest: object) -> None:
        true(self, rows=rows + 1, **rest)  # pyright: ignore[reportArgumentType]

    patch.setattr(learned.Learned, "__init__", longer)


def a_table_that_refuses_nothing(patch: Patch) -> None:
    true = learned.Learned.rows

    def clamped(self: learned.Learned, positions: Positions, *_: object) -> Tensor:
        last = self.trained_length() - 1
        return true(self, Positions(positions.index.clamp(max=last), last + 1))

    patch.setattr(learned.Learned, "rows", clamped)


def raw_rows_whatever_the_scale(patch: Patch) -> None:
    def build(self: sinusoidal.SinusoidalConfig, *, sizes: Sizes, **_: object) -> object:
        return sinusoidal.Sinusoidal(
            rows=sizes.context,
            width=sizes.d_model,
            base=self.base,
            multiplier=1.0,
            computed=self.computed,
        )

    patch.setattr(sinusoidal.SinusoidalConfig, "build", build)


def rotation_by_the_square_of_the_position(patch: Patch) -> None:
    true = Rope.turn

    def turn(self: Rope, vectors: Tensor, positions: Positions) -> Tensor:
        return true(self, vectors, Positions(positions.index**2, positions.length**2))

    patch.setattr(Rope, "turn", turn)


def a_tied_output_with_its_own_table(patch: Patch) -> None:
    def build(_: tied.TiedConfig, *, sizes: Sizes, token_std: float) -> Untied:
        return Untied(vocab=sizes.vocab, width=sizes.d_model, std=token_std)

    patch.setattr(tied.TiedConfig, "build", build)


def no_positions_that_leak_order(patch: Patch) -> None:
    def rows(_: NonePosition, positions: Positions, *__: object) -> Tensor:
        # Unlike in every feature, or the norm would take it out again.
        return positions.index.float()[:, None] * torch.arange(12.0) / 100

    patch.setattr(NonePosition, "rows", rows)


def weight_decay_that_is_forgotten(patch: Patch) -> None:
    def decay(*_: object) -> float:
        return 0.0

    patch.setattr(OptimizerConfig, "decay", decay)


def ids_that_are_not_checked(patch: Patch) -> None:
    def check(_: Tensor, **__: object) -> None:
        return

    patch.setattr(embedding_kernel, "check_range", check)


def an_output_drawn_twice_as_wide(patch: Patch) -> None:
    true = Untied.initialise

    def initialise(self: Untied, generator: torch.Generator) -> None:
        true(self, generator)
        self.weight.mul_(2)

    patch.setattr(Untied, "initialise", initialise)


def parts_drawn_from_one_stream(patch: Patch) -> None:
    true = decoder.torch_generator
    stream = [true(0, "")]

    def shared(seed: int, purpose: str) -> torch.Generator:
        if purpose == "init/embedding":
            stream[0] = true(seed, purpose)
        return stream[0]

    patch.setattr(decoder, "torch_generator", shared)


SABOTEURS: list[tuple[Callable[[Patch], None], list[int]]] = [
    (sine_and_cosine_swapped, [6, 7, 9, 10, 23]),
    (wavelengths_of_another_base, [7, 8, 9, 10, 12]),
    (a_learned_row_too_many, [3, 4, 5, 6, 15, 21, 23, 27]),
    (a_table_that_refuses_nothing, [6, 23]),
    (raw_rows_whatever_the_scale, [26]),
    (rotation_by_the_square_of_the_position, [25]),
    (a_tied_output_with_its_own_table, [4, 13, 16, 21]),
    (no_positions_that_leak_order, [2, 19, 25]),
    (weight_decay_that_is_forgotten, [17, 18]),
    (ids_that_are_not_checked, [1]),
    (an_output_drawn_twice_as_wide, [20]),
    (parts_drawn_from_one_stream, [28]),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sabotage", "speak_of_it"), SABOTEURS, ids=[each.__name__ for each, _ in SABOTEURS]
)
def test_exactly_the_claims_that_speak_of_what_is_broken_fail(
    sabotage: Callable[[Patch], None], speak_of_it: list[int], monkeypatch: Patch
) -> None:
    monkeypatch.setattr(shape_checks, "jaxtyping_disable", True)  # a third of the time
    sabotage(monkeypatch)
    failing = [claim.number for claim in claims(None) if claim.verdict is Verdict.fails]
    assert failing == speak_of_it
