"""The operation `cross_entropy` as a model calls it."""

from collections.abc import Mapping
from typing import final

import torch
from torch import Tensor
from typing_extensions import override

from andrea_exp.bench.example import Example, Kernel, Load, noise, size_bytes
from andrea_exp.bench.task import Task, halved
from andrea_exp.kernel.backend import Use
from andrea_exp.seeding import torch_generator


@final
class CrossEntropyTask(Task):
    """Features of every token, scored against all V rows.

    The rows have a deviation of 1/sqrt(width), so that logits are of the order of 1.

    Least traffic forward: features, rows, targets, losses. Backward: the same read, the gradients
    of features and rows written. Products forward: 2 V per feature; backward: twice that, without
    what a kernel computes a second time.
    """

    operation = "cross_entropy"

    @override
    def intermediate(self, use: Use) -> int:
        return use.batch * use.length * use.vocab

    @override
    def example(self, use: Use) -> Example:
        width, tokens = self.asked.scored_width, use.batch * use.length
        draw = torch_generator(self.asked.seed, "bench/cross_entropy")
        features = noise((tokens, width), draw, device=use.device)
        rows = noise((use.vocab, width), draw, device=use.device) * width**-0.5
        targets = torch.randint(use.vocab, (tokens,), generator=draw).to(use.device)
        upstream = noise((tokens,), draw, device=use.device)

        def call(kernel: Kernel, inputs: Mapping[str, Tensor]) -> Tensor:
            return kernel(inputs["features"], inputs["scoring rows"], targets)

        products = 2 * tokens * width * use.vocab
        inputs = size_bytes(features, rows, targets, upstream)
        return Example(
            given={"features": features.requires_grad_(), "scoring rows": rows.requires_grad_()},
            call=call,
            upstream=upstream,
            autocast=halved(use),
            forward_load=Load(inputs, flops=products),
            backward_load=Load(inputs + size_bytes(features, rows), flops=2 * products),
        )
