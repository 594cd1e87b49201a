"""The typed choices of the decoder."""

import math
from dataclasses import dataclass, field
from enum import Enum

from andrea_exp.component import (
    Config,
    above,
    at_least,
    between,
    fraction_below_one,
    positive_up_to,
)
from andrea_exp.norm import NormConfig
from andrea_exp.shapes import Sizes


class Placement(Enum):
    """Where a block normalises."""

    pre = "x + sublayer(norm(x)); GPT-2 (Radford et al. 2019)"
    post = "norm(x + sublayer(x)); Vaswani et al. 2017"


class Activation(Enum):
    """The nonlinearity of the feed-forward part."""

    gelu = "x Phi(x), exact (arXiv:1606.08415)"
    gelu_tanh = "its tanh approximation, as in GPT-2's code"
    relu = "max(x, 0)"
    relu_squared = "max(x, 0)^2 (So et al. 2021, arXiv:2109.08668)"
    swiglu = "silu(x W) * (x U), three matrices (Shazeer 2020, arXiv:2002.05202)"


class Residual(Enum):
    """How the last matrix before each residual sum is drawn."""

    plain = "like every other matrix"
    scaled = "std / sqrt(2 L); GPT-2"
    zero = "all zero"

    def std(self, std: float, *, num_layers: int) -> float:
        """Standard deviation of these matrices, where every other one has `std`."""
        match self:
            case Residual.plain:
                return std
            case Residual.scaled:
                return std / math.sqrt(2 * max(num_layers, 1))
            case Residual.zero:
                return 0.0


@dataclass(kw_only=True, frozen=True)
class BlockNormConfig(NormConfig):
    """The norms of the blocks, and the one after them."""

    placement: Placement
    final: bool
    """Whether the output of the last block is normalised again."""


@dataclass(kw_only=True, frozen=True)
class FeedForwardConfig(Config):
    """The position-wise part of a block."""

    activation: Activation
    ratio: float = field(metadata=positive_up_to(10**3))
    """F/D; the product with D must be a whole number."""


@dataclass(kw_only=True, frozen=True)
class InitConfig(Config):
    """How the blocks' matrices are drawn. Token, position and output rows have their own std."""

    std: float | None = field(metadata=above(0))
    """Standard deviation; null: 1/sqrt(D)."""
    residual: Residual


@dataclass(kw_only=True, frozen=True)
class ModelConfig(Config):
    """A decoder's sizes and choices."""

    d_model: int = field(metadata=between(1, 10**6))
    """D: width of the residual stream."""
    num_layers: int = field(metadata=between(0, 10**3))
    """Blocks; 0 leaves embedding and output alone."""
    num_heads: int = field(metadata=at_least(1))
    """Attention heads per block."""
    context: int = field(metadata=at_least(1))
    """T: tokens of a training window."""
    vocab: int | None = field(metadata=at_least(1))
    """V: rows of the token table; null: as many ids as the data has. More are padding."""
    nominal_parameters: int | None = field(metadata=between(1, 10**15))
    """The round size in the system's name, for shares beside those of the real total."""
    causal: bool
    """Whether a token sees only itself and earlier ones. A language model needs it."""
    bias: bool
    """Whether linear maps have biases."""
    dropout: float = field(metadata=fraction_below_one())
    """Share dropped after the embedding, in the attention weights and before residual sums."""
    norm: BlockNormConfig
    feedforward: FeedForwardConfig
    init: InitConfig
    compile: bool
    """Whether torch.compile wraps the training step, whatever the kernel backend."""

    def __post_init__(self) -> None:
        """Check how sizes fit together."""
        super().__post_init__()
        if self.d_model % self.num_heads:
            raise ValueError(
                f"num_heads={self.num_heads} does not divide d_model={self.d_model}; "
                "each head takes an equal share of the width"
            )
        wanted = self.d_model * self.feedforward.ratio
        if not math.isclose(self.feedforward_width, wanted, rel_tol=1e-9):
            raise ValueError(
                f"feedforward.ratio={self.feedforward.ratio} of d_model={self.d_model} is "
                f"{wanted:g} features; choose a whole number"
            )

    @property
    def feedforward_width(self) -> int:
        """F: features of the hidden layer of the feed-forward part."""
        return round(self.d_model * self.feedforward.ratio)

    def sizes(self, *, used_vocab: int) -> Sizes:
        """The sizes that all parts share, for data with `used_vocab` ids.

        Raises:
            ValueError: the model's vocabulary is smaller than the data's.
        """
        vocab = used_vocab if self.vocab is None else self.vocab
        if vocab < used_vocab:
            raise ValueError(
                f"model.vocab={vocab} is smaller than the {used_vocab} ids of the data and its "
                "tokenizer; choose other data with data=, another tokenizer=, or model.vocab=null"
            )
        return Sizes(
            vocab=vocab,
            used_vocab=used_vocab,
            context=self.context,
            d_model=self.d_model,
            num_heads=self.num_heads,
            num_layers=self.num_layers,
        )
