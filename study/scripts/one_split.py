"""One split trained for its numbers alone: nothing is left on the disk."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.graph import Graph, Split
from ansgt.runs.folder import Rows, SplitFolder
from ansgt.runs.run import Environment, Job, train_split
from ansgt.storage import DiskCache


@dataclass(frozen=True, eq=False)
class Trained:
    """What is known of a split after its training.

    Args:
        result: its record.
        metrics: one row per epoch.
        validation: class probabilities of the validation nodes [nodes, C], one array per scored epoch.
        predicted: class probabilities of all nodes at the kept epoch [n, C].
    """

    result: dict[str, Any]
    metrics: Rows
    validation: list[np.ndarray]
    predicted: np.ndarray


def train_once(config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> Trained:
    """Trains on one split, in a folder that is gone afterwards."""
    validation: list[np.ndarray] = []

    def keep(epoch: int, probabilities: Tensor) -> None:
        validation.append(probabilities.numpy())

    environment = Environment(cache, on_validation=keep, checkpoint_seconds=float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        record = SplitFolder(Path(folder))
        train_split(Job(config, graph, split, record, environment))
        predicted = record.predictions()["probabilities"]
        return Trained(record.result(), record.metrics(), validation, predicted)
