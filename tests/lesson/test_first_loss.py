"""The loss before training, where the lesson's one slip about the init would show."""

import math

import pytest
import torch

from andrea_exp.output.untied import Untied
from tests import options

VOCAB, WIDTH = 8_449, 768


def first_loss(std: float | None) -> float:
    """Nats at step 0 of the lesson's example without its blocks, over every target."""
    model = options.decoder(
        options.model(d_model=WIDTH, num_heads=12, num_layers=0, context=16),
        position=options.position("learned"),
        embedding=options.embedding("table", std=None),
        output=options.output("untied", std=std),
        used_vocab=VOCAB,
    )
    assert isinstance(model.output, Untied)
    with torch.no_grad():
        hidden = model.hidden(torch.arange(64).view(4, 16) * 131)
        torch.testing.assert_close(
            hidden.square().mean(dim=-1), torch.ones(4, 16), rtol=1e-2, atol=0
        )
        logits = model.logits(hidden).double()
    return float((logits.logsumexp(dim=-1) - logits.mean(dim=-1)).mean())


@pytest.mark.parametrize(("std", "nats"), [(0.02, 9.195), (None, 9.542)])
def test_the_first_loss_is_uniform_plus_half_the_variance_of_the_scores(
    std: float | None, nats: float
):
    assert math.log(VOCAB) == pytest.approx(9.0418, abs=5e-5)
    assert first_loss(std) == pytest.approx(nats, abs=0.02)


def test_the_root_of_the_width_for_its_inverse_gives_itself_away():
    found = first_loss(WIDTH**0.5)
    assert found == pytest.approx(2_900, rel=0.05)
    assert found > 300 * math.log(VOCAB)
