"""The walk inside the model: ids -> token + position rows -> blocks -> norm -> scores."""

from typing import final

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn
from typing_extensions import override

from andrea_exp.embedding.base import Embedding
from andrea_exp.kernel.base import Kernels
from andrea_exp.model.block import Block
from andrea_exp.model.config import ModelConfig
from andrea_exp.output.base import Output
from andrea_exp.position.base import Position, Positions
from andrea_exp.position.beyond import Beyond
from andrea_exp.seeding import torch_generator
from andrea_exp.shapes import Sizes


@final
class Decoder(nn.Module):
    """A transformer decoder in plain torch, allocated but not drawn until `initialise`."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        sizes: Sizes,
        embedding: Embedding,
        position: Position,
        output: Output,
        kernels: Kernels,
    ) -> None:
        super().__init__()
        self.config = config
        self.sizes = sizes
        self.embedding = embedding
        self.position = position
        self.blocks = nn.ModuleList(
            Block(config, kernel=kernels.attention) for _ in range(config.num_layers)
        )
        self.norm = config.norm.build(config.d_model) if config.norm.final else None
        self.output = output
        self._cross_entropy = kernels.cross_entropy

    @override
    def forward(
        self,
        ids: Int64[Tensor, "B T"],
        *,
        positions: Positions | None = None,
        beyond: Beyond | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the next token; those of padded ids are -inf.

        Args:
            ids: token ids.
            positions: where they stand; by default 0..T-1.
            beyond: policy past the trained length in place of the declared one.
        """
        return self.logits(self.hidden(ids, positions=positions, beyond=beyond))

    def losses(
        self,
        ids: Int64[Tensor, "B T"],
        targets: Int64[Tensor, "B T"],
        *,
        positions: Positions | None = None,
        beyond: Beyond | None = None,
    ) -> Float[Tensor, "B T"]:
        """Loss of each target in nats; the other arguments are those of `forward`."""
        return self.nats(self.hidden(ids, positions=positions, beyond=beyond), targets)

    def logits(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        """The head alone: logits from hidden states; those of padded ids are -inf."""
        features, rows = self._scored(hidden)
        logits = F.linear(features, rows)
        padding = self.sizes.vocab - self.sizes.used_vocab
        return F.pad(logits, (0, padding), value=float("-inf")) if padding else logits

    def nats(
        self, hidden: Float[Tensor, "B T D"], targets: Int64[Tensor, "B T"]
    ) -> Float[Tensor, "B T"]:
        """The head alone: loss of each target from hidden states, in nats."""
        features, rows = self._scored(hidden)
        nats = self._cross_entropy(features.flatten(0, 1), rows, targets.flatten())
        return nats.unflatten(0, targets.shape)

    def hidden(
        self,
        ids: Int64[Tensor, "B T"],
        *,
        positions: Positions | None = None,
        beyond: Beyond | None = None,
    ) -> Float[Tensor, "B T D"]:
        """What the output scores: the last block's output, normalised if the model says so."""
        return self.states(ids, positions=positions, beyond=beyond)[-1]

    def states(
        self,
        ids: Int64[Tensor, "B T"],
        *,
        positions: Positions | None = None,
        beyond: Beyond | None = None,
    ) -> list[Float[Tensor, "B T D"]]:
        """The residual stream: after the embedding, after each block, and what is scored."""
        if positions is None:
            positions = Positions.first(ids.shape[-1], device=ids.device)
        rows = self.position.rows(positions, beyond)
        bias = self.position.bias(positions)
        x = F.dropout(self.embedding(ids, rows), self.config.dropout, training=self.training)
        states = [x]
        for block in self.blocks:
            x = block(x, position=self.position, positions=positions, bias=bias)
            states.append(x)
        states.append(x if self.norm is None else self.norm(x))
        return states

    @torch.no_grad()
    def initialise(self, seed: int) -> None:
        """Draw every parameter and fill every buffer; the model must be on the CPU.

        Each part has its own stream, so another choice of one part leaves the initial values of
        the others as they are.
        """
        init = self.config.init
        std = self.config.d_model**-0.5 if init.std is None else init.std
        std_out = init.residual.std(std, num_layers=self.config.num_layers)
        self.embedding.initialise(torch_generator(seed, "init/embedding"))
        self.position.initialise(torch_generator(seed, "init/position"))
        for index, block in enumerate(self.blocks):
            assert isinstance(block, Block)
            generator = torch_generator(seed, f"init/block {index}")
            block.initialise(generator, std=std, std_out=std_out)
        if self.norm is not None:
            self.norm.initialise()
        self.output.initialise(torch_generator(seed, "init/output"))

    def _scored(
        self, hidden: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B T E"], Float[Tensor, "U E"]]:
        """Features, and the rows of the U ids in use that they are scored against."""
        rows = self.output.rows(embedding=self.embedding)
        if self.sizes.used_vocab < self.sizes.vocab:
            rows = rows[: self.sizes.used_vocab]
        return self.output.features(hidden, embedding=self.embedding), rows
