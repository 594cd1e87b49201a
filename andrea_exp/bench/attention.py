"""The operation `attention` as a model calls it."""

from collections.abc import Mapping
from typing import final

from torch import Tensor
from typing_extensions import override

from andrea_exp.bench.example import Example, Kernel, Load, noise, size_bytes
from andrea_exp.bench.task import Task, halved
from andrea_exp.kernel.backend import Use
from andrea_exp.seeding import torch_generator


@final
class AttentionTask(Task):
    """Queries, keys and values as one projection leaves them in memory, turned by their positions.

    Least traffic forward: q, k, v, the bias, the output. Backward: the same and the output's
    gradient read, the gradients written. Products forward: 4 H per query and key that it sees;
    backward: twice that, without what a kernel computes a second time.
    """

    operation = "attention"

    @override
    def intermediate(self, use: Use) -> int:
        return use.batch * use.heads * use.length**2

    @override
    def example(self, use: Use) -> Example:
        asked, positions = self.asked, self.asked.first(use.length)
        head = use.width // use.heads
        shape = (use.batch, use.length, 3, use.heads, head)
        draw = torch_generator(asked.seed, "bench/attention")
        query, key, value = noise(shape, draw, device=use.device, dtype=use.dtype).permute(
            2, 0, 3, 1, 4
        )
        turned = (asked.position.turn(query, positions), asked.position.turn(key, positions), value)
        given = {
            name: each.detach().requires_grad_()
            for name, each in zip(("queries", "keys", "values"), turned, strict=True)
        }
        bias = asked.position.bias(positions)
        if bias is not None:
            given["bias"] = bias.detach().clone().requires_grad_(bias.requires_grad)
        upstream = noise(
            (use.batch, use.heads, use.length, head), draw, device=use.device, dtype=use.dtype
        )

        def call(kernel: Kernel, inputs: Mapping[str, Tensor]) -> Tensor:
            return kernel(
                inputs["queries"],
                inputs["keys"],
                inputs["values"],
                bias=inputs.get("bias"),
                causal=use.causal,
                dropout=use.dropout,
            )

        trained = [each for each in given.values() if each.requires_grad]
        products = 4 * head * use.batch * use.heads * _seen(use)
        return Example(
            given=given,
            call=call,
            upstream=upstream,
            autocast=halved(use),
            forward_load=Load(size_bytes(*given.values(), upstream), flops=products),
            backward_load=Load(
                size_bytes(*given.values(), *trained, upstream, upstream), flops=2 * products
            ),
        )


def _seen(use: Use) -> int:
    """Pairs of a query and a key that it sees, of one head."""
    return use.length * (use.length + 1) // 2 if use.causal else use.length**2
