"""One lookup for both tables: claim 27."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from typing_extensions import override

from andrea_exp.kernel.embedding.base import EmbeddingOp
from andrea_exp.lesson import parts
from andrea_exp.lesson.claim import Found, Question, equal
from andrea_exp.lesson.quality import speed
from andrea_exp.position.base import Position

VOCAB, WIDTH, LENGTH = 19, 12, 5
IDS = torch.tensor([[3, 0, 18, 3, 5], [7, 7, 1, 2, 0], [18, 17, 16, 15, 14]])
OCCURRENCES = [2.0, 1, 1, 2, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2]
"""Of each id in IDS, counted by hand."""


def one_operation() -> Found:
    """Claim 27, the part that needs no training."""
    fixed = parts.scheme("sinusoidal", rows=7, width=WIDTH).float()
    trained = parts.scheme("learned", rows=7, width=WIDTH).float()
    table = parts.rows_of(fixed, 7)
    with torch.no_grad():
        for parameter in trained.parameters():
            parameter[:7].copy_(table)
    drawn = torch.randn(VOCAB, WIDTH, generator=torch.Generator().manual_seed(1))
    weight = nn.Parameter(drawn)
    embed = parts.composed().recipe.kernel.build().embedding
    vectors, of_tokens, _ = _looked_up(embed, fixed, weight)
    same, _, of_rows = _looked_up(embed, trained, weight)
    different = int((vectors != same).sum())
    yield equal("trained and fixed rows: numbers that differ", different, 0)
    expected = torch.stack([torch.stack([drawn[i] for i in row]) for row in IDS]) + table[:LENGTH]
    different = int((vectors != expected).sum())
    yield equal("numbers unlike one float32 addition", different, 0)
    yield equal("gradient of each token row", of_tokens, OCCURRENCES)
    yield equal("gradient of each learned row", of_rows, [3.0] * LENGTH + [0.0] * 2)
    for option in parts.schemes():
        scheme = parts.scheme(option, rows=7, width=WIDTH, heads=3).float()
        computes = "yes" if _computes_sines(scheme) else "no"
        turns = "yes" if _turns(scheme) else "no"
        yield equal(f"{option}: computes sines at each step", computes, turns)


def _looked_up(
    operation: EmbeddingOp, position: Position, weight: nn.Parameter
) -> tuple[Tensor, list[float], list[float]]:
    """Vectors, and the gradients of their sum in the first feature of token and position rows."""
    vectors = operation(IDS, weight, position.rows(parts.first(LENGTH)), multiplier=1.0)
    wanted = [weight, *position.parameters()]
    of_tokens, *of_rows = torch.autograd.grad(vectors.sum(), wanted)
    rows = of_rows[0][:, 0].tolist() if of_rows else []
    return vectors.detach(), of_tokens[:, 0].tolist(), rows


def _turns(scheme: Position) -> bool:
    """Whether queries and keys come out changed."""
    ones = torch.ones(1, 3, LENGTH, 4)
    return not torch.equal(scheme.turn(ones, parts.first(LENGTH)), ones)


def _computes_sines(scheme: Position) -> bool:
    with _Recorded() as recorded:
        scheme.rows(parts.first(LENGTH))
        scheme.turn(torch.ones(1, 3, LENGTH, 4), parts.first(LENGTH))
        scheme.bias(parts.first(LENGTH))
    return bool({"sin", "cos"} & recorded.names)


class _Recorded(TorchDispatchMode):
    """Names of torch's operations that run inside."""

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


QUESTIONS = (
    Question(
        number=27,
        question="Do learned positions save a kernel?",
        says="The CUDA engine handles the two lookups identically and needs no sin/cos kernel.",
        right="A precomputed sinusoid needs none either: the same gather, and no backward pass. "
        "Only RoPE computes sines at every step. The saving is code, not kernels; what each "
        "scheme costs in time and memory is a measurement.",
        live=one_operation,
        trained=speed,
        command="python -m andrea_exp -m name=speed position=learned,sinusoidal,rope,alibi,none",
    ),
)
