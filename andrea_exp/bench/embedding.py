"""The operation `embedding` as a model calls it."""

from collections.abc import Mapping
from typing import final

import torch
from torch import Tensor
from typing_extensions import override

from andrea_exp.bench.example import Example, Kernel, Load, noise, size_bytes
from andrea_exp.bench.task import Task, halved
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.embedding.sinusoid import Sinusoid
from andrea_exp.seeding import torch_generator


@final
class EmbeddingTask(Task):
    """Token rows by id, scaled, plus position rows.

    The ids follow Zipf's law, as tokens of text do roughly: the r-th most frequent of V has a
    probability in proportion to 1/r. How often ids repeat decides how hard the backward is.

    Least traffic forward: ids, each distinct token row once, position rows, the output. Backward:
    ids, the output's gradient, and the whole gradients, V rows of the table among them.
    """

    operation = "embedding"

    @override
    def intermediate(self, use: Use) -> int:
        return use.batch * use.length * self.asked.token_width

    @override
    def example(self, use: Use) -> Example:
        asked, shape = self.asked, (use.batch, use.length)
        draw = torch_generator(asked.seed, "bench/embedding")
        # torch.multinomial has an end at 2^24 ids.
        reached = (1 / torch.arange(1, use.vocab + 1, dtype=torch.float64)).cumsum(0)
        where = torch.rand(use.batch * use.length, dtype=torch.float64, generator=draw)
        drawn = torch.searchsorted(reached, where * reached[-1], right=True)
        drawn.clamp_(max=use.vocab - 1)
        ids = drawn.view(shape).to(use.device)
        table = noise((use.vocab, asked.token_width), draw, device=use.device)
        upstream = noise((*shape, asked.token_width), draw, device=use.device)
        given = {"token rows": table.requires_grad_()}
        rows = asked.position.rows(asked.first(use.length)) if asked.rows_added else None
        computed = rows if isinstance(rows, Sinusoid) else None
        if isinstance(rows, Tensor):
            given["position rows"] = rows.detach().clone().requires_grad_(rows.requires_grad)

        def call(kernel: Kernel, inputs: Mapping[str, Tensor]) -> Tensor:
            return kernel(
                ids,
                inputs["token rows"],
                inputs.get("position rows", computed),
                multiplier=asked.multiplier,
            )

        return Example(
            given=given,
            call=call,
            upstream=upstream,
            autocast=halved(use),
            forward_load=Load(
                size_bytes(ids, upstream, given.get("position rows"))
                + len(drawn.unique()) * asked.token_width * table.element_size(),
                flops=None,
            ),
            backward_load=Load(
                size_bytes(ids, upstream, *(each for each in given.values() if each.requires_grad)),
                flops=None,
            ),
        )
