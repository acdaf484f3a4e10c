"""Do arms that follow the direction of links pay? In- and out-neighbours beside the paper's four heuristics.

    python -m study.scripts.directed_arms --root DATA --datasets chameleon actor squirrel --splits 3 --out OUT

Shipped settings, one model, uniform splits, with the bandit: four arms, and four with two more. A line of directed.jsonl
is one trained split; the same command goes on where it was.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ansgt.datasets import load_dataset
from ansgt.datasets.load import Source
from ansgt.heuristics import HEURISTICS, Heuristic
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from study.scripts.leave_one_out import KINDS, read_rows
from study.scripts.one_split import train_once


class Followed(Heuristic):
    """Q_i[j] proportional to the number of links i -> j.

    Args:
        links: sparse [n, n], entry (i, j) for i -> j.
    """

    def __init__(self, links: sp.csr_array) -> None:
        super().__init__()
        self.links = links

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        return self.links[nodes]


def directed_links(edge_index: np.ndarray, num_nodes: int) -> sp.csr_array:
    """Links without loops, entry (i, j) for i -> j."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]]
    return sp.csr_array((np.ones(len(source), dtype=np.float32), (source, target)), (num_nodes, num_nodes))


def arms_of(edge_index: np.ndarray, num_nodes: int) -> dict[str, list[Any]]:
    """Name of a mixture -> its heuristics."""
    links = directed_links(edge_index, num_nodes)
    names: list[Any] = list(HEURISTICS)
    return {"four": names, "directed": [*names, Followed(links), Followed(links.T.tocsr())]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default="data")
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--datasets", nargs="+", default=["chameleon", "actor", "squirrel"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    path = options.out / "directed.jsonl"
    done = {(row["dataset"], row["arms"], row["index"]) for row in (read_rows(path) if path.exists() else [])}
    for index in range(options.splits):
        for dataset in options.datasets:
            data = Source(options.root, options.cache).load(dataset)
            raw = load_dataset(dataset, options.root, cache_dir=Path(options.cache))
            split = data.split(KINDS[0], index, 0)
            for name, arms in arms_of(raw.edge_index.numpy(), data.graph.num_nodes).items():
                if (dataset, name, index) in done:
                    continue
                given = {"num_models": 1, "heuristics": arms}
                request = Request(dataset, "ansgt", KINDS[0], device=options.device)
                trained = train_once(
                    build_config(request, overrides=given), data.graph, split, DiskCache(options.cache)
                )
                kept = ("val_accuracy", "test_accuracy", "best_epoch", "seconds", "learned", "split_hash")
                row = {"dataset": dataset, "arms": name, "index": index}
                with path.open("a") as lines:
                    lines.write(json.dumps({**row, **{key: trained.result[key] for key in kept}}) + "\n")


if __name__ == "__main__":
    main()
