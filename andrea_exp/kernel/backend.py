"""What every backend of every operation can be asked before it runs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch

from andrea_exp.component import OptionConfig


@dataclass(kw_only=True, frozen=True)
class BackendConfig(OptionConfig, ABC):
    """One implementation of one operation. It never hands the work to another one."""

    @abstractmethod
    def reasons(self, *, device: torch.device, dtype: torch.dtype) -> list[str]:
        """Every reason why it cannot run on this device in this dtype; empty if it can."""
