"""What the vectors are: sums of rows, compared by dot products, unrelated at init."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

from andrea_exp.data.grammar_words import ENGLISH
from andrea_exp.evaluate.panel import panel
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig, EmbeddingOp
from andrea_exp.model.decoder import Decoder
from andrea_exp.output.untied import Untied
from andrea_exp.position.base import Position, Positions
from andrea_exp.position.learned import Learned
from andrea_exp.shapes import Sizes
from tests import options
from tests.kernel.contract import DEVICE, skip_where_it_cannot_run

VOCAB, WIDTH, BATCH, LENGTH = 19, 12, 3, 5


def decoder(
    *, position: str = "learned", output: str = "untied", vocab: int = VOCAB, **model: object
) -> Decoder:
    return options.decoder(
        options.model(**model),
        position=options.position(position),
        embedding=options.embedding("table"),
        output=options.output(output),
        used_vocab=vocab,
    )


def some_ids() -> Tensor:
    return torch.tensor([[3, 0, 18, 3, 5], [7, 7, 1, 2, 0], [18, 17, 16, 15, 14]])


@pytest.mark.parametrize("output", options.names("output"))
@pytest.mark.parametrize("position", options.names("position"))
def test_blocks_see_token_plus_position_row_in_every_sequence(position: str, output: str):
    model, ids = decoder(position=position, output=output), some_ids()
    stream = model.states(ids)[0]
    assert stream.shape == (BATCH, LENGTH, WIDTH)
    assert model(ids).shape == (BATCH, LENGTH, VOCAB)
    tokens, table = model.embedding.token_rows(), model.position.table()
    for sequence, vectors in zip(ids.tolist(), stream, strict=True):
        for place, (token, vector) in enumerate(zip(sequence, vectors, strict=True)):
            if table is None:
                assert torch.equal(vector, tokens[token])
            else:
                assert torch.equal(vector, tokens[token] + table[place])
                assert not torch.equal(vector, tokens[token] + table[place + 1])


# Three, four, five: lengths and angles are whole numbers, and every product is exact.
U, AHEAD, BEHIND, ACROSS, SHORT, OBLIQUE = range(6)
ROWS = [
    [3.0, 4, 0, 0],
    [6.0, 8, 0, 0],
    [-3.0, -4, 0, 0],
    [-4.0, 3, 0, 0],
    [0.375, 0.5, 0, 0],
    [5.0, 0, 0, 0],
]


def test_a_score_is_the_product_of_two_lengths_and_the_cosine_between():
    model = decoder(output="tied", vocab=6, d_model=4, num_heads=1)
    with torch.no_grad():
        model.embedding.token_rows().copy_(torch.tensor(ROWS))
    scores = model.logits(torch.tensor([ROWS]))[0]
    assert scores[U].tolist() == [25, 50, -25, 0, 3.125, 15]
    assert scores[U, OBLIQUE] == 5 * 5 * 0.6
    assert scores.diagonal().tolist() == [25, 100, 25, 25, 25 / 64, 25]  # squares of the lengths
    assert scores[U, BEHIND] == -scores[U, U]
    # A small one in the same direction scores below a long one at an angle.
    assert scores[U, SHORT] < scores[U, OBLIQUE]


def test_a_cosine_is_that_product_without_the_lengths():
    found = panel(torch.tensor([ROWS[i] for i in (U, OBLIQUE, U, BEHIND, ACROSS, SHORT)]))
    assert found.adjacent_cosine == pytest.approx((0.6 + 0.6 - 1 + 0 + 0) / 5)
    assert found.row_norms == pytest.approx([5, 5, 5, 5, 5, 0.625])


WORDS = ("cat", "dog", "pet", "Tuesday", "xylophone")
DRAWS = 200


def fresh_tables(width: int) -> dict[str, Tensor]:
    """Input and output rows of the words of all pairs, drawn from many seeds."""
    model = options.decoder(
        options.model(d_model=width, num_heads=1, num_layers=0),
        position=options.position("none"),
        embedding=options.embedding("table"),
        output=options.output("untied"),
        used_vocab=len(ENGLISH.words),
    )
    assert isinstance(model.output, Untied)
    sides = {"input": model.embedding.token_rows(), "output": model.output.weight}
    index = [ENGLISH.words.index(word) for word in WORDS]
    draws: dict[str, list[Tensor]] = {side: [] for side in sides}
    for seed in range(DRAWS):
        model.initialise(seed)
        for side, table in sides.items():
            draws[side].append(table.detach()[index])
    return {side: torch.stack(tables) for side, tables in draws.items()}


def is_noise(cosines: Tensor, *, width: int) -> bool:
    """Whether these have mean 0 and deviation 1/sqrt(D), within four standard errors."""
    spread = width**-0.5
    mean_is_zero = abs(cosines.mean().item()) < 4 * spread / len(cosines) ** 0.5
    return mean_is_zero and abs(cosines.std().item() / spread - 1) < 4 / (2 * len(cosines)) ** 0.5


@pytest.mark.parametrize(("width", "spread"), [(64, 0.125), (768, 0.036)])
def test_before_training_related_words_are_no_closer_than_others(width: int, spread: float):
    for tables in fresh_tables(width).values():
        cat, *others = tables.unbind(1)
        shared = tables.std() / 2  # rows with a common mean are not noise
        for other in others:
            found = torch.cosine_similarity(cat, other, dim=1)
            assert is_noise(found, width=width)
            assert found.std().item() == pytest.approx(spread, rel=0.2)
            lifted = torch.cosine_similarity(cat + shared, other + shared, dim=1)
            assert not is_noise(lifted, width=width)


def scheme(option: str, *, std: float = 0.02) -> Position:
    sizes = Sizes(
        vocab=VOCAB, used_vocab=VOCAB, context=7, d_model=WIDTH, num_heads=3, num_layers=1
    )
    built = options.position(option).build(sizes=sizes, token_scale=std)
    built.initialise(torch.Generator().manual_seed(0))
    return built.to(DEVICE)


def looked_up(
    operation: EmbeddingOp, position: Position, weight: Tensor
) -> tuple[Tensor, list[Tensor]]:
    """Vectors, and the gradients of their sum in the token table and in the scheme's parameters."""
    rows = position.rows(Positions.first(LENGTH, device=DEVICE))
    vectors = operation(some_ids().to(DEVICE), weight, rows, multiplier=1.0)
    wanted = [weight, *position.parameters()]
    return vectors.detach(), list(torch.autograd.grad(vectors.sum(), wanted))


@pytest.mark.parametrize("backend", options.names("kernel/embedding"))
def test_one_operation_serves_trained_and_fixed_rows_alike(backend: str):
    config = options.typed(EmbeddingKernelConfig, options.values("kernel/embedding", backend))
    skip_where_it_cannot_run(config, torch.float32)
    fixed, trained, other = scheme("sinusoidal"), scheme("learned"), scheme("learned")
    assert isinstance(trained, Learned)
    table = fixed.table()
    assert table is not None
    with torch.no_grad():
        trained.weight.copy_(table)
    drawn = torch.randn(VOCAB, WIDTH, generator=torch.Generator().manual_seed(1))
    weight = drawn.to(DEVICE).requires_grad_()
    vectors, (of_tokens,) = looked_up(config.build(), fixed, weight)
    same_vectors, (same_of_tokens, of_rows) = looked_up(config.build(), trained, weight)
    assert torch.equal(vectors, same_vectors)
    assert torch.equal(vectors, weight.detach()[some_ids()] + table[:LENGTH])  # one addition
    assert not torch.equal(vectors, looked_up(config.build(), other, weight)[0])
    # How often each id occurs, and how many sequences read each row.
    assert of_tokens[:, 0].tolist() == [2, 1, 1, 2, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]
    assert torch.equal(of_tokens, same_of_tokens)
    assert of_rows[:, 0].tolist() == [BATCH] * LENGTH + [0, 0]


class Recorded(TorchDispatchMode):
    """Names of the operations that run inside."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    @override
    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        self.names.add(str(func).split(".")[1])
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    ("option", "computes"),
    [("learned", False), ("sinusoidal", False), ("rope", True), ("alibi", False), ("none", False)],
)
def test_only_rotation_computes_sines_at_every_step(option: str, computes: bool):
    position, where = scheme(option), Positions.first(LENGTH, device=DEVICE)
    with Recorded() as recorded:
        position.rows(where)
        position.turn(torch.ones(BATCH, 3, LENGTH, 4, device=DEVICE), where)
        position.bias(where)
    assert bool({"sin", "cos"} & recorded.names) == computes
