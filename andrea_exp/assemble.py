"""From typed configuration to built parts: the only file that knows all of them."""

from collections.abc import Callable
from typing import TypeVar, final

import torch

from andrea_exp.component import Refusal
from andrea_exp.config.run import Recipe, RunConfig
from andrea_exp.data.base import Data
from andrea_exp.data.stream import BatchStream
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Position
from andrea_exp.shapes import Sizes
from andrea_exp.train.config import Precision
from andrea_exp.train.runtime import compile_reasons, reasons

Part = TypeVar("Part")


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
            allocate: False leaves it without memory or values, for counting.

        Raises:
            Refusal: the parts do not fit together.
        """
        used = vocab or self.known_vocab() or self.load_data().vocab
        with torch.device(self.device if allocate else "meta"):
            model = self._assemble(used)
        if allocate:
            model.initialise(self.recipe.seed)
        return model

    def check(self) -> Data:
        """Refuse, before anything is written, what could not run here; the data, already read.

        Raises:
            Refusal: with every reason that was found.
        """
        running, recipe = self.config.running, self.recipe
        dtype = torch.bfloat16 if recipe.trainer.precision is Precision.bf16 else torch.float32
        found = reasons(running.runtime) + recipe.kernel.reasons(device=self.device, dtype=dtype)
        found += running.logger.reasons()
        if recipe.model.compile:
            found += compile_reasons(running.runtime)
        if found:
            raise Refusal("\n".join(found))
        _refusing(lambda: recipe.evaluation.lengths(recipe.model.context))
        _refusing(lambda: recipe.optimizer.schedule.check(max_steps=recipe.trainer.max_steps))
        self.build_model(vocab=self.known_vocab() or 1, allocate=False)
        data = self.load_data()
        _refusing(lambda: recipe.model.sizes(used_vocab=data.vocab))
        return data

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
        return found

    def _assemble(self, used_vocab: int) -> Decoder:
        recipe = self.recipe
        kernels = recipe.kernel.build()
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
