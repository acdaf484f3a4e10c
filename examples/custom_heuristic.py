"""A heuristic of one's own: common neighbours, beside the paper's four.

A heuristic is a class with `fit(graph)` and `rows(nodes)`; deriving from `Heuristic` leaves one method to write, and brings
self-exclusion, normalisation, `max_candidates` and the disk cache.

    python examples/custom_heuristic.py
"""

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.datasets import newman_network
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, Heuristic, resolve
from ansgt.sampling import Exp4P, Mixture, NodeSampler, reward


class CommonNeighbors(Heuristic):
    """Q_i[j] proportional to the number of neighbours that i and j share."""

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        adj = self.graph_.adj
        return sp.csr_array(adj[nodes] @ adj)


def main() -> None:
    graph = Graph.from_data(newman_network(homophily=0.9, seed=0))
    names = [*HEURISTICS, "common neighbours"]
    arms = [resolve(name, max_candidates=20) for name in HEURISTICS] + [CommonNeighbors(max_candidates=20)]
    mixture = Mixture.from_heuristics([arm.fit(graph) for arm in arms], graph.num_nodes)
    sampler = NodeSampler(mixture, num_sampled=10, num_sequences=4, mode="distinct")
    bandit = Exp4P(num_arms=len(arms), p_min=0.02)

    # In training, significance is the centre's attention; here a node matters if it has the centre's label.
    nodes = torch.arange(graph.num_nodes)
    for round in range(10):
        sampled = sampler.draw(nodes, bandit.probabilities(), round)
        same = (graph.y[sampled.ids] == graph.y[sampled.nodes][:, None, None]) & sampled.mask
        significance = same * sampled.count / sampled.count.sum(dim=-1, keepdim=True).clamp(min=1)
        bandit.update(reward(sampled, significance).mean())
    for name, p in zip(names, bandit.probabilities().tolist(), strict=True):
        print(f"{name:18s} {p:.3f}")


if __name__ == "__main__":
    main()
