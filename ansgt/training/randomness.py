"""Where randomness comes from: torch's global generators, seeded from numbers that name the moment."""

from typing import Any

import torch

from ansgt.storage import content_hash


def seed_all(seed: int, split: int, epoch: int) -> None:
    """Seeds torch's global generators (dropout draws from them) from the three numbers that name an epoch."""
    value = int(content_hash(seed, split, epoch)[:15], 16)
    if torch.cuda.is_available():
        torch.manual_seed(value)
    else:  # manual_seed would also queue a call with its stack trace for a CUDA that never comes: a third of a small epoch
        torch.default_generator.manual_seed(value)


def owned_randomness(device: str) -> Any:
    """A block that leaves the caller's global generators as they were."""
    cuda = [torch.device(device)] if torch.device(device).type == "cuda" else []
    return torch.random.fork_rng(devices=cuda)
