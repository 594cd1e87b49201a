"""The axis alphabet, and the sizes behind it.

B batch, T query time, S key time, N heads, H head width, D model width, E width that the output
scores, F feed-forward width, V vocabulary, M rows of a table.
"""

from dataclasses import dataclass


def check_size(size: int, *, name: str) -> None:
    """Refuse a size of which nothing could be made.

    Raises:
        ValueError: below 1; the text begins with the size's name.
    """
    if size < 1:
        raise ValueError(f"{name} must be at least 1, got {size}")


@dataclass(kw_only=True, frozen=True)
class Sizes:
    """The numbers that the parts of one model share. Parts receive them; no part owns one."""

    vocab: int
    """V: rows of the token table; ids are 0..V-1."""
    used_vocab: int
    """Ids that the data can produce; the rest of the V rows is padding and is masked."""
    context: int
    """The trained length, in tokens."""
    d_model: int
    """D: width of the residual stream."""
    num_heads: int
    """N: attention heads."""
    num_layers: int
    """Blocks between embedding and output."""

    @property
    def head_width(self) -> int:
        """H: width of one head."""
        return self.d_model // self.num_heads
