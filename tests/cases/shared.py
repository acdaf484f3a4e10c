"""Trainings of some epochs, in one process or as one of several that torchrun starts: what `tests/test_ranks.py` compares.

torchrun --nproc-per-node 2 tests/cases/shared.py OUT
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ansgt.graph import Graph, Split
from ansgt.ranks import joined, ranks
from ansgt.runs.prepare import Request, build_config
from ansgt.runs.seeds import seed_building, seed_epoch
from ansgt.storage import DiskCache, content_hash
from ansgt.testing import random_graph
from ansgt.training.adaptive import AdaptiveLearner

EPOCHS = 5
TINY = [
    "num_layers=1",
    "num_augmentations=2",
    "num_sampled=6",
    "hidden_channels=16",
    "num_heads=2",
    "update_period=2",
]
CASES: dict[str, list[str]] = {
    "all rows, held": ["redraw_every=null"],
    "all rows, two layers, drawn anew": ["redraw_every=1", "num_layers=2", "average_epochs=2"],
    "own rows, dense": ["redraw_every=1", "batch_size=5"],
    "own rows, sparse": ["redraw_every=1", "batch_size=5", "label_smoothing=0.1"],
}


def graph(sparse: bool) -> tuple[Graph, Split]:
    """A graph with more nodes than a small batch has tokens."""
    made = random_graph(500, num_features=24)
    x = torch.where(made.x > 1.0, made.x, 0.0)
    made = replace(made, x=x.to_sparse_csr() if sparse else x)
    return made, Split(torch.arange(1, 64), torch.arange(100, 203), torch.arange(300, 350), "given", 0)


def trained(name: str) -> dict[str, Any]:
    """Losses of every epoch, hashes of what was drawn, the bandit's rows, and predictions."""
    made, split = graph("sparse" in name)
    config = build_config(Request("graph", "ansgt", "given"), overrides=[*TINY, *CASES[name]])
    seed_building(0, 0)
    one = AdaptiveLearner(config, made, split, 7, DiskCache(None))
    losses, drawn = [], []
    for epoch in range(EPOCHS):
        drawn.append(sequences(one))
        seed_epoch(0, 0, epoch)
        losses.append(one.train_epoch(epoch))
    probabilities = one.trained.predict_proba(split.val)
    return {
        "losses": losses,
        "drawn": drawn,
        "rewards": [row["rewards"] for row in one.history()],
        "probabilities": probabilities.tolist(),
        "updates": one.optimizer.num_updates,
    }


def sequences(one: AdaptiveLearner) -> str:
    """Hash of all training centres' sequences of the present round, of which every process draws its share."""
    nodes, pipeline = one.train_nodes, one.trained.pipeline
    own: Tensor = nodes[ranks().share(len(nodes))]
    tables = pipeline.draw(own, one.trained.p, one.round).sequences
    return content_hash(ranks().gathered(tables.ids, len(nodes)).numpy())


if __name__ == "__main__":
    with joined() as all_ranks:
        results = {name: trained(name) for name in CASES}
        if all_ranks.leads:
            Path(sys.argv[1]).write_text(json.dumps(results))
