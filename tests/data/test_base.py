"""Batches made from windows."""

import numpy as np
import torch

from andrea_exp.data.base import Batch


def test_the_target_of_a_token_is_the_next_one_of_its_window():
    batch = Batch.from_windows(np.array([[3, 1, 4, 1], [5, 9, 2, 6]]))
    assert batch.inputs.tolist() == [[3, 1, 4], [5, 9, 2]]
    assert batch.targets.tolist() == [[1, 4, 1], [9, 2, 6]]
    assert batch.weights.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    assert [part.dtype for part in batch] == [torch.int64, torch.int64, torch.float32]
    assert all(part.is_contiguous() for part in batch)
