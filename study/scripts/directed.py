"""Does the direction of links pay? As two more arms of the bandit, and as columns of their own where links are features.

    python -m study.scripts.directed arms --root DATA --datasets chameleon actor squirrel --splits 3 --out OUT
    python -m study.scripts.directed links --root DATA --datasets chameleon squirrel --splits 3 --out OUT

Shipped settings, one model, uniform splits, with the bandit. `arms`: the paper's four heuristics, and with in- and
out-neighbours. `links`: a node's row of A as one block of columns, and as two (out, in). A line of arms.jsonl or links.jsonl
is one trained split; the same command goes on where it was.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from ansgt.datasets import load_dataset
from ansgt.datasets.load import Source
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, Heuristic
from ansgt.linalg import to_torch
from ansgt.runs.prepare import Request, build_config
from ansgt.storage import DiskCache
from study.scripts.leave_one_out import KEPT, KINDS, read_rows
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


def links_of(edge_index: np.ndarray, num_nodes: int) -> Tensor:
    """Columns of links [n, 2n]: whom a node links to, then who links to it."""
    links = directed_links(edge_index, num_nodes)
    return to_torch(sp.csr_array(sp.hstack([links, links.T])))


def variants(trial: str, graph: Graph, edge_index: np.ndarray) -> dict[str, tuple[Graph, dict[str, Any]]]:
    """Name -> the graph, and what differs from the shipped settings."""
    if trial == "arms":
        arms = arms_of(edge_index, graph.num_nodes)
        return {name: (graph, {"num_models": 1, "heuristics": arms}) for name, arms in arms.items()}
    given = {"num_models": 1, "link_features": "links"}
    apart = replace(graph, links=links_of(edge_index, graph.num_nodes))
    return {"one": (graph, given), "apart": (apart, given)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trial", choices=("arms", "links"))
    parser.add_argument("--root", default="data")
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    parser.add_argument("--datasets", nargs="+", default=["chameleon", "actor", "squirrel"])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    path = options.out / f"{options.trial}.jsonl"
    done = {(row["dataset"], row["name"], row["index"]) for row in (read_rows(path) if path.exists() else [])}
    for index in range(options.splits):
        for dataset in options.datasets:
            data = Source(options.root, options.cache).load(dataset)
            raw = load_dataset(dataset, options.root, cache_dir=Path(options.cache))
            split, edges = data.split(KINDS[0], index, 0), raw.edge_index.numpy()
            for name, (graph, given) in variants(options.trial, data.graph, edges).items():
                if (dataset, name, index) in done:
                    continue
                request = Request(dataset, "ansgt", KINDS[0], device=options.device)
                config = build_config(request, overrides=given)
                trained = train_once(config, graph, split, DiskCache(options.cache))
                row = {"dataset": dataset, "name": name, "index": index}
                row |= {key: trained.result[key] for key in KEPT if key in trained.result}
                with path.open("a") as lines:
                    lines.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
