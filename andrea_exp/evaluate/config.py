"""The typed choices of the evaluation after training."""

from dataclasses import dataclass, field

from andrea_exp.component import Config, at_least, between, positive_share, positive_up_to
from andrea_exp.position.beyond import Beyond


@dataclass(kw_only=True, frozen=True)
class EvaluationConfig(Config):
    """Which lengths are scored, on how many targets, under which policies, and the rest."""

    length_factors: list[float] = field(metadata=positive_up_to(10**6))
    """Lengths as multiples of T; each product must be a whole number of tokens. T is always one."""
    beyond: list[Beyond]
    """Policies past T that are scored beside the declared one, from the same run."""
    block_targets: int = field(metadata=at_least(1))
    """Targets scored by block, the same at every length; all there are, if the text has fewer."""
    sliding_targets: int = field(metadata=at_least(1))
    """Targets scored by sliding, the same at every length; a part of those scored by block."""
    stride_share: float = field(metadata=positive_share())
    """Stride of the sliding protocol as a share of T; one token at least."""
    tail_share: float = field(metadata=positive_share())
    """The tail is the last tail_share * T targets of a window; one at least."""
    anchors: int = field(metadata=at_least(2))
    """Places where a window of every length ends, for the tail loss and its rise past T."""
    position_buckets: int = field(metadata=at_least(1))
    """Buckets of loss by position per length T."""
    shuffles: int = field(metadata=between(200, 100_000))
    """Random orders of the position rows that their smoothness is compared with."""
    probe_every_steps: int | None = field(metadata=at_least(1))
    """Optimizer steps between two probes of the model while it trains, whose columns go to the
    lines of metrics.jsonl; a multiple of trainer.log_every_steps. null: never."""
    probe_targets: int = field(metadata=at_least(1))
    """Validation targets of a probe's loss, the same in each, by block at T; all there are, if the
    text has fewer."""
    batch_tokens: int = field(metadata=at_least(1))
    """Most tokens in one forward pass."""
    pairs: list[list[str]]
    """Further pairs of tokens for the geometry, by their texts: [[cat, dog], [cat, Tuesday]]."""
    frequent_tokens: int = field(metadata=between(0, 100))
    """For data without pairs of their own: the pairs among so many tokens, the most frequent ones
    of the validation text, are compared."""
    neighbours: int = field(metadata=at_least(1))
    """How many nearest neighbours of a token are told."""
    hidden_windows: int = field(metadata=at_least(2))
    """Windows of T validation tokens over which hidden states are averaged; all, if the text has
    fewer."""
    order_windows: int = field(metadata=at_least(1))
    """The same of the order probe."""

    def __post_init__(self) -> None:
        """Check that no policy is scored twice, and that pairs are pairs."""
        super().__post_init__()
        if len(set(self.beyond)) < len(self.beyond):
            names = ", ".join(policy.name for policy in self.beyond)
            raise ValueError(f"beyond=[{names}] names a policy twice; name each once")
        for pair in self.pairs:
            if len(pair) != 2:
                raise ValueError(f"pairs: {pair} must be two texts, as in pairs=[[cat,dog]]")

    def lengths(self, context: int) -> list[int]:
        """The lengths in tokens, ascending, T among them.

        Raises:
            ValueError: a factor gives no whole number of tokens.
        """
        found = {context}
        for factor in self.length_factors:
            length = factor * context
            if abs(length - round(length)) > 1e-9 * length or length < 1:
                raise ValueError(
                    f"evaluation.length_factors: {factor:g} of model.context={context} is "
                    f"{length:g} tokens; choose factors that give whole numbers"
                )
            found.add(round(length))
        return sorted(found)

    def stride(self, context: int) -> int:
        """Step of the sliding protocol, in tokens."""
        return max(1, round(self.stride_share * context))

    def tail(self, context: int) -> int:
        """Targets of a tail."""
        return max(1, round(self.tail_share * context))

    def bucket(self, context: int) -> int:
        """Positions of one bucket of the loss by position."""
        return -(-context // self.position_buckets)
