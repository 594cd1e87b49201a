"""Which backends there are, and why a chosen one cannot serve."""

import dataclasses

import torch
from typing_extensions import override

from andrea_exp.config.backends import able, backends, unfit
from andrea_exp.kernel.attention.base import AttentionKernelConfig, AttentionOp
from andrea_exp.kernel.attention.torch import attend
from andrea_exp.kernel.backend import Use
from tests import options
from tests.kernel.contract import some_use


@dataclasses.dataclass(kw_only=True, frozen=True)
class NeverHere(AttentionKernelConfig):
    @override
    def reasons(self, use: Use) -> list[str]:
        return [f"no {use.device.type}", f"no {use.dtype}"]

    @override
    def runs_as(self, use: Use) -> str:
        return self.name

    @override
    def build(self) -> AttentionOp:
        return attend


CPU = some_use(device=torch.device("cpu"))
NEVER = NeverHere(name="test_backends")


def test_every_option_of_conf_is_found_by_its_name():
    found = backends()
    assert set(found) == {"embedding", "attention", "cross_entropy"}
    for operation, of_operation in found.items():
        assert list(of_operation) == options.names(f"kernel/{operation}")
        assert of_operation["torch"].name == "torch"


def test_one_message_has_every_reason_and_the_backends_that_can():
    mixed = dataclasses.replace(options.kernel(), attention=NEVER)
    (message,) = unfit(mixed, CPU)
    assert message.startswith(
        "kernel/attention=test_backends cannot run here: no cpu; no torch.float32; here can: "
    )
    assert "torch" in message.partition("here can: ")[2].split(", ")


def test_those_that_cannot_are_not_among_those_that_can():
    assert able({"never": NEVER, "torch": options.kernel().attention}, CPU) == ["torch"]


def test_what_can_run_is_no_message():
    assert unfit(options.kernel(), CPU) == []
