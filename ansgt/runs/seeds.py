"""Where randomness comes from: torch's global generators, seeded from numbers that name the moment.

A run resumed from any checkpoint continues exactly as if it had never stopped, because nothing depends on what was drawn
before: building a model, every epoch, and the prediction at the end each begin with a seed of their own.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ansgt.device import generator_devices, seed_generators
from ansgt.storage import content_hash
from ansgt.turns import turn

MODEL_DISTANCE = 1_000_003
"""Between the seeds of two models of one split."""
SPLIT_DISTANCE = 1_000
_BUILDING, _PREDICTION = -1, -2
"""Moments that no epoch's number can be."""


@contextmanager
def owned_randomness(device: str) -> Iterator[None]:
    """A block that leaves the caller's global generators as they were; threads enter it one at a time (see `turn`)."""
    with turn(), torch.random.fork_rng(devices=generator_devices(device)):
        yield


def seed_building(seed: int, split: int) -> None:
    """Before a model is built: decides its first weights."""
    _seed(seed, split, _BUILDING)


def seed_epoch(seed: int, split: int, epoch: int) -> None:
    """Before an epoch: decides the order of the centres and what dropout drops."""
    _seed(seed, split, epoch)


def seed_prediction(seed: int, split: int) -> None:
    """Before a trained model predicts, for models that draw from the global generators while they do."""
    _seed(seed, split, _PREDICTION)


def draw_seed(seed: int, split: int) -> int:
    """Of all sequences drawn for a split."""
    return seed * SPLIT_DISTANCE + split


def model_seed(seed: int, number: int) -> int:
    """Of the models of one split that differ by their seed alone; the first has the run's own."""
    return seed + MODEL_DISTANCE * number


def _seed(seed: int, split: int, moment: int) -> None:
    seed_generators(int(content_hash(seed, split, moment)[:15], 16))
