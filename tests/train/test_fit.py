"""One training, uninterrupted."""

import math
import signal
import threading
from pathlib import Path

import pytest
import torch

from andrea_exp.component import Refusal
from andrea_exp.train.outcome import Ended
from tests.train import toy


def same_weights(one: toy.Trained, other: toy.Trained) -> bool:
    left, right = one.weights(), other.weights()
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def test_equal_seeds_give_equal_rows_and_bits_and_another_seed_does_not(tmp_path: Path):
    first, second = toy.train(tmp_path / "first"), toy.train(tmp_path / "second")
    other = toy.train(tmp_path / "other", seed=4)
    assert first.timeless() == second.timeless()
    assert same_weights(first, second)
    assert first.timeless() != other.timeless()
    assert not same_weights(first, other)


def test_the_result_does_not_depend_on_who_prepares_batches_or_on_the_state_of_torch(
    tmp_path: Path,
):
    first = toy.train(tmp_path / "first")
    torch.manual_seed(99)
    assert same_weights(first, toy.train(tmp_path / "second", machine=toy.runtime(workers=1)))


def test_rows_come_at_every_interval_and_at_the_last_step(tmp_path: Path):
    trained = toy.train(tmp_path, config=toy.trainer(max_steps=10))
    assert [row["step"] for row in trained.rows] == [4, 8, 10]
    tokens_per_step = toy.BATCH * 7 * toy.ACCUMULATION
    assert [row["tokens"] for row in trained.rows] == [n * tokens_per_step for n in (4, 8, 10)]
    assert list(trained.rows[0]) == [
        "step",
        "tokens",
        "train_loss_nats",
        "lr",
        "grad_norm",
        "clipped",
        "elapsed_s",
        "tokens_per_s",
    ]
    schedule = toy.optimizer().schedule
    expected = [3e-3 * schedule.multiple(n - 1, max_steps=10) for n in (4, 8, 10)]
    assert [row["lr"] for row in trained.rows] == expected
    outcome = trained.outcome
    assert (outcome.ended, outcome.steps, outcome.resumed_from) == (Ended.completed, 10, 0)
    assert outcome.train_loss_nats == trained.rows[-1]["train_loss_nats"]
    assert outcome.deterministic


def test_the_steps_are_those_of_a_plain_loop(tmp_path: Path):
    """Accumulation, clipping, schedule and weights, written out again in plain torch."""
    config, rule = toy.trainer(clip_norm=0.2), toy.optimizer()
    trained = toy.train(
        tmp_path, model=toy.decoder(dropout=0.0), config=config, data=toy.Weighted()
    )
    plain = toy.decoder(dropout=0.0).train()
    decayed = [p for n, p in plain.named_parameters() if p.ndim > 1 and "position" not in n]
    others = [p for n, p in plain.named_parameters() if p.ndim == 1 or "position" in n]
    adamw = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=3e-3,
        betas=(0.9, 0.95),
        eps=1e-8,
    )
    batches = toy.stream(config, data=toy.Weighted())
    losses: list[float] = []
    norms: list[float] = []
    for step in range(config.max_steps):
        total = torch.zeros(())
        for batch in (batches[2 * step], batches[2 * step + 1]):
            nats = plain.losses(batch.inputs, batch.targets)
            total = total + (nats * batch.weights).sum() / batch.weights.sum() / 2
        adamw.zero_grad()
        total.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.2).item())
        for group in adamw.param_groups:
            group["lr"] = 3e-3 * rule.schedule.multiple(step, max_steps=config.max_steps)
        adamw.step()
        losses.append(total.item())
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(trained.weights()[name], value, rtol=1e-4, atol=1e-6)
    for row, begin in zip(trained.rows, (0, 4, 8), strict=True):
        window = slice(begin, begin + 4)
        assert row["train_loss_nats"] == pytest.approx(sum(losses[window]) / 4, rel=1e-5)
        assert row["grad_norm"] == pytest.approx(sum(norms[window]) / 4, rel=1e-4)
        assert row["clipped"] == sum(norm > 0.2 for norm in norms[window]) / 4


def test_the_groups_are_reported_with_their_decay(tmp_path: Path):
    groups = {group.name: group for group in toy.train(tmp_path).outcome.groups}
    assert {name: group.weight_decay for name, group in groups.items()} == {
        "matrices": 0.1,
        "positions": 0.0,
        "vectors": 0.0,
    }
    assert groups["positions"].parameters == ["position.weight"]
    assert groups["positions"].size == 7 * 12


def test_bf16_trains_float32_parameters(tmp_path: Path):
    config = toy.trainer(precision="bf16")
    trained = toy.train(tmp_path / "bf16", config=config)
    assert all(value.dtype is torch.float32 for value in trained.weights().values())
    exact = toy.train(tmp_path / "fp32")
    assert trained.timeless() != exact.timeless()
    assert trained.outcome.train_loss_nats == pytest.approx(exact.outcome.train_loss_nats, rel=0.02)


@pytest.mark.parametrize("option", ["adamw", "sgd"])
def test_poisoned_weights_stop_the_run_before_the_step(tmp_path: Path, option: str):
    model = toy.decoder()

    def poison(_row: toy.Row) -> None:
        with torch.no_grad():
            model.output.rows(embedding=model.embedding)[3] = math.nan

    trained = toy.train(tmp_path, model=model, rule=toy.optimizer(option), sink=poison)
    outcome = trained.outcome
    assert (outcome.ended, outcome.steps, outcome.nonfinite_step) == (Ended.nan, 4, 5)
    assert [row["step"] for row in trained.rows] == [4, 5]
    assert math.isnan(trained.rows[-1]["train_loss_nats"])
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["step"] == 3
    assert trained.weights()["blocks.0.attention.project_in.weight"].isfinite().all()


def test_a_learning_rate_beyond_reason_stops_at_a_named_step(tmp_path: Path):
    config = toy.trainer(clip_norm=None)
    outcome = toy.train(tmp_path, config=config, rule=toy.optimizer("sgd", lr=1e30)).outcome
    assert outcome.ended is Ended.nan
    assert outcome.nonfinite_step == outcome.steps + 1


def test_everything_global_is_as_before(tmp_path: Path):
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    handlers = [signal.getsignal(number) for number in numbers]
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    toy.train(tmp_path, config=toy.trainer(max_steps=3), machine=toy.runtime())
    assert handlers == [signal.getsignal(number) for number in numbers]
    assert torch.equal(state, torch.get_rng_state())
    assert threads == torch.get_num_threads()
    assert not torch.are_deterministic_algorithms_enabled()


def test_it_works_outside_the_main_thread(tmp_path: Path):
    ends: list[Ended] = []
    thread = threading.Thread(target=lambda: ends.append(toy.train(tmp_path).outcome.ended))
    thread.start()
    thread.join()
    assert ends == [Ended.completed]


def test_the_model_is_left_in_evaluation_mode(tmp_path: Path):
    assert not any(module.training for module in toy.train(tmp_path).model.modules())


def test_a_warm_up_longer_than_the_training_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"warmup_steps=3 exceeds trainer\.max_steps=2"):
        toy.train(tmp_path, config=toy.trainer(max_steps=2))


def test_a_machine_that_cannot_is_refused_with_every_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(Refusal, match=r"WORLD_SIZE=4 says that torchrun"):
        toy.train(tmp_path, machine=toy.runtime(devices=2))
    assert not list(tmp_path.iterdir())
