"""The training batches of a run as a sized, map-style stream, for torch's DataLoader."""

from copy import copy
from typing import final

from torch.utils.data import Dataset
from typing_extensions import override

from andrea_exp.data.base import Batch, Data
from andrea_exp.seeding import numpy_generator


@final
class BatchStream(Dataset[Batch]):
    """Batch k is a function of seed and k alone, whoever asks for it and in whatever order.

    Items are whole batches, so a loader takes `batch_size=None`. Where to begin after a resume
    is the sampler's matter.
    """

    def __init__(
        self, *, data: Data, seed: int, batch_size: int, context: int, num_batches: int
    ) -> None:
        self._data = data
        self._seed = seed
        self._batch_size = batch_size
        self._context = context
        self._num_batches = num_batches
        self._rows = slice(batch_size)

    def shard(self, rank: int, *, count: int) -> "BatchStream":
        """The same batches, of each of which process `rank` of `count` gets its rows alone.

        Raises:
            ValueError: the rows cannot be dealt out evenly.
        """
        if self._batch_size % count:
            raise ValueError(f"{self._batch_size} rows of a batch for {count} processes")
        size = self._batch_size // count
        view = copy(self)
        view._rows = slice(rank * size, (rank + 1) * size)
        return view

    def __len__(self) -> int:
        """Number of batches in the run."""
        return self._num_batches

    @override
    def __getitem__(self, index: int) -> Batch:
        """Batch `index`, or this process's rows of it.

        Raises:
            IndexError: it is not one of 0..len-1.
        """
        if not 0 <= index < self._num_batches:
            raise IndexError(f"batch {index} is not one of 0..{self._num_batches - 1}")
        rng = numpy_generator(self._seed, "data/train", index)
        whole = self._data.draw(rng, count=self._batch_size, context=self._context)
        return Batch(*(part[self._rows] for part in whole))
