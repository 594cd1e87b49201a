"""What holds for every test."""

from andrea_exp.command import let_waiting_threads_sleep

let_waiting_threads_sleep()  # test processes share the cores

import torch  # noqa: E402 - reads the setting above when it is imported

# Sums are split by thread, so their last bits depend on how many there are.
torch.set_num_threads(1)
