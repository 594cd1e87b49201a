"""Scores against plain losses at T, and against one forward per target past it."""

import pytest
import torch
from torch import Tensor

from andrea_exp.evaluate.protocol import block, sliding
from andrea_exp.evaluate.score import Scores, places, score
from andrea_exp.model.decoder import Decoder
from andrea_exp.position.base import Positions
from andrea_exp.position.beyond import Beyond
from tests import options

T = 7
TEXT = torch.randint(19, (40,), generator=torch.Generator().manual_seed(3))
LAST = 6
PAST = [policy for policy in Beyond if policy is not Beyond.error]


def learned(beyond: str = "clamp", *, context: int = T) -> Decoder:
    """A small model with a trained table whose rows are large enough to matter."""
    return options.decoder(
        options.model(context=context),
        position=options.position("learned", beyond=beyond, std=0.7),
        embedding=options.embedding("table"),
        output=options.output("untied"),
    )


def plain(model: Decoder, tokens: Tensor, *, rows: int) -> Tensor:
    """Losses of non-overlapping windows of T, in batches of `rows` windows."""
    inputs, targets = tokens[:-1].view(-1, T), tokens[1:].view(-1, T)
    model.eval()
    with torch.no_grad():
        return torch.cat(
            [
                model.losses(batch, wanted).flatten()
                for batch, wanted in zip(inputs.split(rows), targets.split(rows), strict=True)
            ]
        )


@pytest.mark.parametrize("policy", Beyond)
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("protocol", ["block", "sliding"])
def test_at_the_trained_length_every_policy_is_bit_for_bit_plain_evaluation(
    policy: Beyond, declared: bool, protocol: str
):
    model = learned(policy.name if declared else "clamp")
    tokens = TEXT[: 5 * T + 1]
    windows = (
        block(len(tokens), length=T)
        if protocol == "block"
        else sliding(len(tokens), length=T, stride=T)
    )
    beyond = None if declared else policy
    found = score(model, tokens, windows, length=T, beyond=beyond, batch_tokens=2 * T)
    assert torch.equal(found.nats, plain(model, tokens, rows=2))


def test_a_model_with_another_row_is_not_plain_evaluation():
    model, twin = learned(), learned()
    table = twin.position.table()
    assert table is not None
    with torch.no_grad():
        table[T - 1] += 1e-3
    tokens = TEXT[: 5 * T + 1]
    windows = block(len(tokens), length=T)
    found = score(twin, tokens, windows, length=T, beyond=None, batch_tokens=2 * T)
    assert not torch.equal(found.nats, plain(model, tokens, rows=2))


def rows_by_formula(policy: Beyond, model: Decoder, length: int, *, broken: bool) -> Tensor:
    """The rows a policy stands for at each position, written out; or a plausible mistake."""
    table = model.position.table()
    assert table is not None
    table = table.detach()
    off = int(broken)

    def row(position: int) -> Tensor:
        late = position >= T
        match policy:
            case Beyond.clamp:
                return table[min(position, T - 1 - off)]
            case Beyond.wrap:
                return table[(position + off * late) % T]
            case Beyond.zero:
                return table[T - 1] * off if late else table[position]
            case Beyond.mean:
                return table[off:].mean(dim=0) if late else table[position]
            case Beyond.interpolate:
                place = position * (T - 1) / (length - 1 + off)
                low = int(place)
                share = place - low
                return (1 - share) * table[low] + share * table[min(low + 1, T - 1)]
            case _:
                return table[position]

    if policy is Beyond.fresh:
        rows = model.position.rows(Positions.first(length, device=table.device), Beyond.fresh)
        assert isinstance(rows, Tensor)
        return torch.cat([rows[:T], rows[T:].roll(off, dims=0)]).detach()
    return torch.stack([row(position) for position in range(length)])


def one_by_one(policy: Beyond, model: Decoder, starts: list[int], *, length: int, broken: bool):
    """Loss of each target of TEXT by a forward of its own, with the rows in a longer table.

    `starts` says for each target where the window that scores it begins. A broken policy is tried
    on the last targets alone.
    """
    longer = learned("error", context=length).double().eval()
    weights = model.state_dict()
    if policy is not Beyond.window:
        weights["position.weight"] = rows_by_formula(policy, model, length, broken=broken)
    else:
        weights["position.weight"] = weights["position.weight"].repeat(length // T, 1)
    longer.load_state_dict(weights)
    seen = T - int(broken)
    losses: list[float] = []
    for index, start in list(enumerate(starts))[-LAST if broken else 0 :]:
        begin = max(start, index + 1 - seen) if policy is Beyond.window else start
        with torch.no_grad():
            logits = longer(TEXT[None, begin : index + 1])[0, -1]
        losses.append(-float(logits.log_softmax(dim=0)[TEXT[index + 1]]))
    return torch.tensor(losses, dtype=torch.float64)


@pytest.mark.parametrize("policy", PAST)
@pytest.mark.parametrize(("length", "stride"), [(2 * T, 2 * T), (3 * T, 11)])
def test_every_policy_equals_a_forward_per_target(policy: Beyond, length: int, stride: int):
    model = learned().double()
    windows = sliding(len(TEXT), length=length, stride=stride)
    starts = [window.start for window in windows for _ in range(window.first, window.stop)]
    found = score(model, TEXT, windows, length=length, beyond=policy, batch_tokens=50)
    expected = one_by_one(policy, model, starts, length=length, broken=False)
    wrong = one_by_one(policy, model, starts, length=length, broken=True)
    assert torch.allclose(found.nats, expected, rtol=1e-9, atol=0)
    assert not torch.allclose(found.nats[-LAST:], wrong, rtol=1e-9, atol=0)


def test_the_declared_window_policy_is_the_one_that_is_asked_for():
    tokens, windows = TEXT, block(len(TEXT), length=2 * T)
    declared, asked = (
        score(model, tokens, windows, length=2 * T, beyond=beyond, batch_tokens=100)
        for model, beyond in ((learned("window"), None), (learned("clamp"), Beyond.window))
    )
    assert torch.equal(declared.nats, asked.nats)


def test_the_error_policy_refuses_past_the_trained_length_and_names_the_others():
    with pytest.raises(ValueError, match=r"14 exceeds the 7 .*clamp"):
        score(
            learned("error"),
            TEXT,
            block(len(TEXT), length=2 * T),
            length=2 * T,
            beyond=None,
            batch_tokens=100,
        )


@pytest.mark.parametrize("option", ["alibi", "rope", "sinusoidal", "none"])
def test_schemes_without_trained_rows_ignore_further_policies(option: str):
    model = options.decoder(
        options.model(),
        position=options.position(option, **({"pairing": "half"} if option == "rope" else {})),
        embedding=options.embedding("table"),
        output=options.output("tied"),
    )

    def run(beyond: Beyond | None) -> Scores:
        windows = block(len(TEXT), length=2 * T)
        return score(model, TEXT, windows, length=2 * T, beyond=beyond, batch_tokens=100)

    assert torch.equal(run(None).nats, run(Beyond.window).nats)


def test_scores_do_not_depend_on_the_batch_split():
    model = learned().double()
    windows = sliding(len(TEXT), length=2 * T, stride=3)

    def run(batch_tokens: int) -> Tensor:
        return score(
            model, TEXT, windows, length=2 * T, beyond=None, batch_tokens=batch_tokens
        ).nats

    assert torch.allclose(run(1), run(10_000), rtol=1e-12, atol=0)


def test_a_hit_is_a_target_with_the_highest_logit():
    model = learned().eval()
    model.output.rows(embedding=model.embedding).data.mul_(9)
    found = score(model, TEXT, block(len(TEXT), length=T), length=T, beyond=None, batch_tokens=100)

    @torch.no_grad()
    def best(index: int) -> int:
        return int(model(TEXT[None, index // T * T : index + 1])[0, -1].argmax())

    expected = [best(index) == int(TEXT[index + 1]) for index in range(len(TEXT) - 1)]
    assert found.hits.tolist() == expected
    assert any(expected)
    assert not all(expected)


def test_places_are_positions_inside_the_window_that_scores():
    windows = sliding(12, length=5, stride=2)
    assert places(windows).tolist() == [0, 1, 2, 3, 4, 3, 4, 3, 4, 3, 4]


def test_dropout_is_off_while_scoring_and_the_mode_is_given_back():
    model = options.decoder(
        options.model(dropout=0.5),
        position=options.position("none"),
        embedding=options.embedding("table"),
        output=options.output("tied"),
    ).train()

    def run() -> Tensor:
        windows = block(len(TEXT), length=T)
        return score(model, TEXT, windows, length=T, beyond=None, batch_tokens=100).nats

    assert torch.equal(run(), run())
    assert model.training


@pytest.mark.parametrize("kind", [torch.uint8, torch.uint16, torch.int32])
def test_the_integer_type_of_the_text_makes_no_difference(kind: torch.dtype):
    model = learned()
    windows = block(len(TEXT), length=T)
    wide, narrow = (
        score(model, tokens, windows, length=T, beyond=None, batch_tokens=2 * T)
        for tokens in (TEXT, TEXT.to(kind))
    )
    assert torch.equal(narrow.nats, wide.nats)
    assert torch.equal(narrow.hits, wide.hits)
