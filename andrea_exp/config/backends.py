"""The kernel backends that `conf/` offers, and why a chosen one cannot serve a use here."""

from collections.abc import Mapping

from andrea_exp.config.catalogue import groups
from andrea_exp.config.compose import compose_ready, hydra_ready
from andrea_exp.config.door import open_node
from andrea_exp.kernel.backend import BackendConfig, Use
from andrea_exp.kernel.base import KernelConfig


def backends() -> dict[str, dict[str, BackendConfig]]:
    """Operation -> option of `conf/kernel/` -> the backend."""
    found: dict[str, dict[str, BackendConfig]] = {}
    with hydra_ready():
        for group, options in groups().items():
            family, _, operation = group.partition("/")
            if family == "kernel" and operation:
                found[operation] = {option: _backend(operation, option) for option in options}
    return found


def unfit(chosen: KernelConfig, use: Use) -> list[str]:
    """Every reason why a chosen backend cannot serve this use, with the names of those that can."""
    refused = {
        operation: why
        for operation, backend in chosen.backends().items()
        if (why := backend.reasons(use))
    }
    others = backends() if refused else {}
    return [
        f"kernel/{operation}={chosen.backends()[operation].name} cannot run here: "
        f"{'; '.join(why)}; here can: {', '.join(able(others[operation], use))}"
        for operation, why in refused.items()
    ]


def able(options: Mapping[str, BackendConfig], use: Use) -> list[str]:
    """The names of the options that can serve this use on this machine."""
    return [option for option, backend in options.items() if not backend.reasons(use)]


def _backend(operation: str, option: str) -> BackendConfig:
    values = compose_ready([f"kernel/{operation}={option}"]).values["kernel"]
    return open_node(KernelConfig, values, path="kernel").backends()[operation]
