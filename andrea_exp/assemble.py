"""From typed configuration to built parts: the only file that knows all of them."""

import math
from collections.abc import Callable
from typing import TypeVar, final

import torch

from andrea_exp.component import Refusal
from andrea_exp.config.backends import unfit
from andrea_exp.config.run import Recipe, RunConfig
from andrea_exp.data.base import Data
from andrea_exp.data.stream import BatchStream
from andrea_exp.evaluate.chosen import named_pairs
from andrea_exp.evaluate.ledger import ledger
from andrea_exp.kernel.backend import Use
from andrea_exp.kernel.base import Kernels
from andrea_exp.kernel.uncomputed import uncomputed
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Position, Positions
from andrea_exp.shapes import Sizes
from andrea_exp.train.config import Device, Precision
from andrea_exp.train.runtime import compile_reasons, memory_bytes, reasons

Part = TypeVar("Part")

# Stands for a vocabulary that only the data will tell, where its logarithm is all that counts.
_SOME_VOCAB = 256


@final
class Run:
    """One configuration and the parts it describes. Nothing is built before it is asked for."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    @property
    def recipe(self) -> Recipe:
        """What decides the result."""
        return self.config.recipe

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return torch.device(self.config.running.runtime.device.value)

    def load_data(self) -> Data:
        """The data, read and tokenized.

        Raises:
            Refusal: it cannot be had here, or is too short for one window.
        """
        recipe = self.recipe
        return recipe.data.load(tokenizer=recipe.tokenizer, context=recipe.model.context)

    def stream(self, data: Data) -> BatchStream:
        """The training batches of this run, in order."""
        recipe = self.recipe
        return BatchStream(
            data=data,
            seed=recipe.seed,
            batch_size=recipe.data.batch_size,
            context=recipe.model.context,
            num_batches=recipe.trainer.max_steps * recipe.trainer.accumulation,
        )

    def known_vocab(self) -> int | None:
        """Ids of the data as far as they are known without reading it; else the model's own."""
        recipe = self.recipe
        counted = (
            recipe.data.known_size() if recipe.tokenizer is None else recipe.tokenizer.known_size()
        )
        return recipe.model.vocab if counted is None else counted

    def build_model(self, *, vocab: int | None = None, allocate: bool = True) -> Decoder:
        """The model of this recipe, with the initial values that its seed draws.

        Args:
            vocab: ids of the data; by default `known_vocab`, and the data are read where that
                does not tell.
            allocate: False leaves it without memory or values, for counting; then no kernel backend
                is needed.

        Raises:
            Refusal: the parts do not fit together.
        """
        used = vocab or self.known_vocab() or self.load_data().vocab
        with torch.device("cpu" if allocate else "meta"):
            kernels = self.recipe.kernel.build() if allocate else uncomputed()
            model = self._assemble(used, kernels)
        if not allocate:
            return model
        model.initialise(self.recipe.seed)  # by generators of the CPU: the same on every device
        return model.to(self.device)

    def check(self, *, elsewhere: bool = False) -> None:
        """Refuse, before anything is written, what could not run here; the data are read.

        Args:
            elsewhere: another machine will train, so what this one lacks is no reason.

        Raises:
            Refusal: with every reason that was found.
        """
        self.check_parts(elsewhere=elsewhere)
        data = self.load_data()
        self._check_sizes(data.vocab, elsewhere=elsewhere)
        named_pairs(data, self.recipe.evaluation.pairs)

    def check_parts(self, *, elsewhere: bool = False) -> None:
        """`check` without the data, for one that has been checked with the same.

        Raises:
            Refusal: with every reason that was found.
        """
        recipe = self.recipe
        found = [] if elsewhere else self._machine_reasons()
        found += self.config.running.logger.reasons()
        if found:
            raise Refusal("\n".join(found))
        _refusing(lambda: recipe.evaluation.lengths(recipe.model.context))
        _refusing(lambda: recipe.optimizer.schedule.check(max_steps=recipe.trainer.max_steps))
        self._check_sizes(self.known_vocab() or 1, elsewhere=elsewhere)

    def warnings(self) -> list[str]:
        """What works but will surprise."""
        recipe = self.recipe
        found = []
        position = self.build_model(vocab=self.known_vocab() or 1, allocate=False).position
        if position.acts_in_attention and recipe.model.num_layers == 0:
            found.append(
                f"position={recipe.position.name} acts in attention alone, and model.num_layers=0 "
                "leaves no attention: it does nothing here"
            )
        if not recipe.model.causal:
            found.append("model.causal=false lets a token see the target it must predict")
        return found + self._saturated()

    def _saturated(self) -> list[str]:
        """A warning if the first logits are so large that each is all but certain of one id.

        A softmax of V independent normal logits with deviation s spreads over many while s is
        below sqrt(2 ln V), and rests on the few largest above (the random energy model, Derrida
        1981). Here s is sqrt(D) times the deviation of the output's rows, for normalised states.
        """
        recipe = self.recipe
        sizes = recipe.model.sizes(used_vocab=self.known_vocab() or _SOME_VOCAB)
        std = recipe.output.initial_std(token_std=recipe.embedding.initial_std(sizes))
        logits, most = std * sizes.d_model**0.5, math.sqrt(2 * math.log(sizes.used_vocab))
        if logits <= most:
            return []
        return [
            f"output={recipe.output.name}: rows that start with a standard deviation of {std:.3g} "
            f"give logits of {logits:.3g} (times the root of model.d_model={sizes.d_model}), above "
            f"{most:.3g}, from where a model is certain of some id before it has learned anything; "
            "lower embedding.std (null: 1/sqrt(D)), or output.std if the output has its own"
        ]

    def _check_sizes(self, vocab: int, *, elsewhere: bool) -> None:
        """Refuse parts that do not fit together or, as far as is known, into the memory here."""
        model = self.build_model(vocab=vocab, allocate=False)
        if elsewhere:
            return
        recipe, runtime = self.recipe, self.config.running.runtime
        counted = ledger(model, nominal=None, moments=recipe.optimizer.moments)
        tokens = recipe.data.batch_size * recipe.model.context
        copies = runtime.devices if runtime.device is Device.cpu else 1
        needed = (
            2 * counted.bytes_weights  # with their gradients
            + counted.bytes_optimizer
            + tokens // runtime.devices * recipe.model.d_model * torch.float32.itemsize
        ) * copies
        there = memory_bytes(runtime.device)
        if needed > there:
            parts = ("token_embedding", "position", "blocks", "output")
            counts = ", ".join(f"{part} {getattr(counted, part):,}" for part in parts)
            raise Refusal(
                "weights, gradients, optimizer state and the vectors of one batch of "
                f"{tokens:,} tokens take {needed / 1e9:,.0f} GB, more than the "
                f"{there / 1e9:,.0f} GB of memory here; lower what is too large: "
                f"model.d_model={recipe.model.d_model}, or one behind these parameters: {counts}"
            )

    def use(self) -> Use:
        """What this run asks of its kernel backends."""
        recipe = self.recipe
        model = self.build_model(vocab=self.known_vocab() or 1, allocate=False)
        bias = model.position.bias(Positions.first(1, device=torch.device("meta")))
        return Use(
            device=self.device,
            dtype=torch.bfloat16 if recipe.trainer.precision is Precision.bf16 else torch.float32,
            batch=recipe.data.batch_size // self.config.running.runtime.devices,
            length=recipe.model.context,
            width=recipe.model.d_model,
            heads=recipe.model.num_heads,
            vocab=model.sizes.vocab,
            biased=bias is not None,
            bias_learned=bias is not None and bias.requires_grad,
            causal=recipe.model.causal,
            dropout=recipe.model.dropout,
            compiled=recipe.model.compile,
        )

    def _machine_reasons(self) -> list[str]:
        runtime, recipe = self.config.running.runtime, self.recipe
        found = reasons(runtime) + unfit(recipe.kernel, self.use())
        return found + (compile_reasons(runtime) if recipe.model.compile else [])

    def _assemble(self, used_vocab: int, kernels: Kernels) -> Decoder:
        recipe = self.recipe
        sizes = _refusing(lambda: recipe.model.sizes(used_vocab=used_vocab))
        embedding = _refusing(
            lambda: recipe.embedding.build(sizes=sizes, kernel=kernels.embedding),
            option=f"embedding={recipe.embedding.name}",
        )
        return Decoder(
            recipe.model,
            sizes=sizes,
            embedding=embedding,
            position=self._position(sizes, token_scale=embedding.scale()),
            output=_refusing(
                lambda: recipe.output.build(
                    sizes=sizes, token_std=recipe.embedding.initial_std(sizes)
                ),
                option=f"output={recipe.output.name}",
            ),
            kernels=kernels,
        )

    def _position(self, sizes: Sizes, *, token_scale: float) -> Position:
        config = self.recipe.position
        return _refusing(
            lambda: config.build(sizes=sizes, token_scale=token_scale),
            option=f"position={config.name}",
        )


def _refusing(build: Callable[[], Part], *, option: str | None = None) -> Part:
    """Build a part; what an option refuses is said with its name in front."""
    try:
        return build()
    except ValueError as error:
        raise Refusal(f"{option}: {error}" if option else str(error)) from error
