"""A tiny model is slowed down, not sped up, by threads that wait for each other on a busy machine."""

import pytest
import torch


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
