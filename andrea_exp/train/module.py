"""One batch in Lightning's hands: loss, gradients and, when enough are gathered, a step."""

from collections.abc import Callable
from typing import final

import torch
from lightning.pytorch import LightningModule
from torch import Tensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm
from torch.optim import Optimizer
from typing_extensions import override

from andrea_exp.data.base import Batch
from andrea_exp.model.decoder import Decoder
from andrea_exp.train.meter import Step
from andrea_exp.train.ranks import Ranks


@final
class TrainingModule(LightningModule):
    """A decoder with its optimizer, under Lightning's manual optimization.

    Lightning brings batches to the device, sets the precision and runs the loop; what happens in
    a step is written here, because a resumed run must repeat it bit for bit. For the same reason
    several processes add up their gradients here, and not in torch's DistributedDataParallel,
    whose order of summation depends on how many steps a process has seen. A batch is that of all
    processes: each has some rows of it, and the sum over them is the loss of the whole.
    """

    def __init__(  # noqa: PLR0913 - what a step needs has many owners
        self,
        model: Decoder,
        *,
        optimizer: Optimizer,
        clip_norm: float | None,
        accumulation: int,
        ranks: Ranks,
        next_lr: Callable[[], float],
        after_step: Callable[[Step], bool],
    ) -> None:
        """Wrap a model.

        Args:
            model: is trained in place; `model.config.compile` says whether its loss is compiled.
            optimizer: over the model's parameters.
            clip_norm: largest global gradient norm, or None.
            accumulation: batches per step.
            ranks: the processes that train together.
            next_lr: learning rate of the coming step.
            after_step: is told of each step and answers whether to stop.
        """
        super().__init__()
        self.automatic_optimization = False
        self.model = model
        self._losses = torch.compile(model.losses) if model.config.compile else model.losses
        self._optimizer = optimizer
        self._parameters_to_clip = [p for p in model.parameters() if p.requires_grad]
        self._clip_norm = clip_norm
        self._accumulation = accumulation
        self._ranks = ranks
        self._next_lr = next_lr
        self._after_step = after_step
        self._gathered: list[Tensor] = []
        self._tokens = 0

    @override
    def configure_optimizers(self) -> Optimizer:
        return self._optimizer

    @override
    def training_step(self, batch: Batch, batch_idx: int) -> None:
        losses = self._losses(batch.inputs, batch.targets)
        weight = batch.weights.sum()
        self._ranks.add([weight])
        loss = (losses * batch.weights).sum() / weight
        with torch.autocast(self.device.type, enabled=False):
            self.manual_backward(loss / self._accumulation)
        self._gathered.append(loss.detach())
        self._tokens += batch.targets.numel() * self._ranks.count
        if len(self._gathered) == self._accumulation:
            self.trainer.should_stop = self._after_step(self._finish_step())

    def _finish_step(self) -> Step:
        """Take the step, unless loss or gradient norm is not finite."""
        gradients = [p.grad for p in self._parameters_to_clip if p.grad is not None]
        losses = torch.stack(self._gathered)
        self._ranks.add([*gradients, losses])
        norm = get_total_norm(gradients)
        loss_nats, grad_norm = torch.stack(
            [losses.mean(), norm]
        ).tolist()  # one wait for the device
        step = Step(
            loss_nats=loss_nats,
            grad_norm=grad_norm,
            clipped=self._clip_norm is not None and grad_norm > self._clip_norm,
            lr=self._next_lr(),
            tokens=self._tokens,
        )
        if step.finite:
            self._take(step, norm=norm)
        self._optimizer.zero_grad()
        self._gathered, self._tokens = [], 0
        return step

    def _take(self, step: Step, *, norm: Tensor) -> None:
        if self._clip_norm is not None:
            clip_grads_with_norm_(self._parameters_to_clip, self._clip_norm, norm)
        for group in self._optimizer.param_groups:
            group["lr"] = step.lr
        self._optimizer.step()
