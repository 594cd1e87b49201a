"""Options as `conf/` has them, built at small sizes, for every test that needs a real part."""

import dataclasses
import functools
import importlib
import inspect
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from hydra import compose
from omegaconf import OmegaConf

import andrea_exp
from andrea_exp.component import Config
from andrea_exp.config.compose import hydra_ready
from andrea_exp.embedding.base import EmbeddingConfig
from andrea_exp.kernel.attention.base import AttentionKernelConfig
from andrea_exp.kernel.base import KernelConfig
from andrea_exp.kernel.cross_entropy.base import CrossEntropyKernelConfig
from andrea_exp.kernel.embedding.base import EmbeddingKernelConfig
from andrea_exp.model.config import ModelConfig
from andrea_exp.model.decoder import Decoder
from andrea_exp.output.base import OutputConfig
from andrea_exp.position.base import PositionConfig
from andrea_exp.shapes import Sizes

PACKAGE = Path(andrea_exp.__file__).parent
CONF = PACKAGE.parent / "conf"
C = TypeVar("C", bound=Config)


def names(group: str) -> list[str]:
    """Every option of a group, deviations included."""
    return sorted(path.stem for path in (CONF / group).glob("*.yaml"))


def values(group: str, option: str) -> dict[str, Any]:
    """What Hydra makes of one option."""
    return dict(_values(group, option))


@functools.cache
def _values(group: str, option: str) -> Mapping[str, Any]:
    # An evaluation takes a value from the trainer.
    beside = [] if group == "trainer" else ["+trainer=standard"]
    with hydra_ready():
        node: Any = compose(overrides=[*beside, f"+{group}={option}"])
    for key in group.split("/"):
        node = node[key]
    plain: Any = OmegaConf.to_container(node, resolve=True)
    return plain


def typed(base: type[C], plain: Mapping[str, Any], **changes: Any) -> C:
    """The config class that belongs to these values, filled with them and with changes."""
    merged: Any = OmegaConf.to_container(OmegaConf.merge(dict(plain), changes))
    cls = base
    if inspect.isabstract(base):
        package = base.__module__.rpartition(".")[0]
        module = importlib.import_module(f"{package}.{plain['name']}")
        (cls,) = (
            member
            for member in vars(module).values()
            if inspect.isclass(member) and issubclass(member, base) and member is not base
        )
    hints = typing.get_type_hints(cls)
    parts = {key: typed(hints[key], value) for key, value in merged.items() if is_node(value)}
    leaves = {key: value for key, value in merged.items() if not is_node(value)}
    schema = dataclasses.make_dataclass("Leaves", [(key, hints[key]) for key in leaves])
    converted = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(schema), leaves))
    return cls(**vars(converted), **parts)


def is_node(value: object) -> bool:
    """Whether a value holds further keys."""
    return isinstance(value, dict)


def position(option: str, **changes: Any) -> PositionConfig:
    """A position option."""
    return typed(PositionConfig, values("position", option), **changes)


def embedding(option: str, **changes: Any) -> EmbeddingConfig:
    """An embedding option."""
    return typed(EmbeddingConfig, values("embedding", option), **changes)


def output(option: str, **changes: Any) -> OutputConfig:
    """An output option."""
    return typed(OutputConfig, values("output", option), **changes)


def kernel() -> KernelConfig:
    """The reference backend of every operation."""
    plain = values("kernel", "torch")
    return KernelConfig(
        embedding=typed(EmbeddingKernelConfig, plain["embedding"]),
        attention=typed(AttentionKernelConfig, plain["attention"]),
        cross_entropy=typed(CrossEntropyKernelConfig, plain["cross_entropy"]),
    )


SMALL = {"d_model": 12, "num_heads": 3, "context": 7, "num_layers": 2}


def model(**changes: Any) -> ModelConfig:
    """The decoder's options at a small size: D 12, 3 heads, T 7, 2 layers."""
    return typed(ModelConfig, values("model", "decoder") | SMALL, **changes)


def small(config: EmbeddingConfig) -> EmbeddingConfig:
    """The same option with a rank, if it has one, that fits a small model."""
    return dataclasses.replace(config, rank=5) if hasattr(config, "rank") else config


def decoder(
    config: ModelConfig,
    *,
    position: PositionConfig,
    embedding: EmbeddingConfig,
    output: OutputConfig,
    used_vocab: int = 19,
    seed: int = 0,
    backends: KernelConfig | None = None,
) -> Decoder:
    """A small decoder, drawn; by default by the reference backends."""
    sizes: Sizes = config.sizes(used_vocab=used_vocab)
    kernels = (backends or kernel()).build()
    tokens = embedding.build(sizes=sizes, kernel=kernels.embedding)
    built = Decoder(
        config,
        sizes=sizes,
        embedding=tokens,
        position=position.build(sizes=sizes, token_scale=tokens.scale()),
        output=output.build(sizes=sizes, token_std=embedding.initial_std(sizes)),
        kernels=kernels,
    )
    built.initialise(seed)
    return built
