"""Floating-point operations of training on one token.

Kaplan et al. 2020 (arXiv:2001.08361), section 2.1, and Chowdhery et al. 2022 (PaLM,
arXiv:2204.02311), appendix B: 6 per matrix parameter that a token meets (2 forward, 4 backward),
plus 12 L D K for the scores and the weighted values of L layers over K keys. Unlike the first, the
output matrix counts, since each token is scored against all its rows, tied or not. Unlike the
second, a causal model sees K = T/2 keys on average, and K = T only without the mask.

Not counted: gathering the token's row, norms, activations, softmax, biases, position schemes,
dropout and the optimizer.
"""

from andrea_exp.model.decoder import Decoder


def flops_per_token(model: Decoder) -> int:
    """Forward and backward at the trained length T."""
    config, context = model.config, model.sizes.context
    doubled_keys = context if config.causal else 2 * context
    attention = 6 * config.num_layers * config.d_model * doubled_keys
    return 6 * matrix_parameters(model) + attention


def matrix_parameters(model: Decoder) -> int:
    """Elements of the matrices that a token is multiplied with, each as often as it is used.

    A projection between the token table and the model's width is used on the way in, and once more
    on the way out if the output is tied.
    """
    table = model.embedding.token_rows()
    rows = model.output.rows(embedding=model.embedding)
    inside = sum(weight.numel() for weight in model.blocks.parameters() if weight.ndim == 2)
    projections = sum(
        weight.numel()
        for weight in model.embedding.parameters()
        if weight.ndim == 2 and weight is not table
    )
    return inside + projections * (2 if rows is table else 1) + rows.numel()
