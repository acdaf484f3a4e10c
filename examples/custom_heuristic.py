"""
A heuristic of your own
=======================

Common neighbours, beside the paper's four heuristics: which of them does the bandit trust?

A heuristic is a class with ``fit(graph)`` and ``rows(nodes)``. Deriving from ``Heuristic`` leaves one method to write,
and brings self-exclusion, normalisation, ``max_candidates`` and the disk cache.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
import torch

from ansgt.datasets.newman import newman_network
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, Heuristic, resolve
from ansgt.sampling import Exp4P, Mixture, NodeSampler, reward


class CommonNeighbors(Heuristic):
    """Q_i[j] proportional to the number of neighbours that i and j share."""

    def _scores(self, nodes: np.ndarray) -> sp.csr_array:
        adj = self.graph_.adj
        return sp.csr_array(adj[nodes] @ adj)


graph = Graph.from_data(newman_network(homophily=0.9, seed=0))
names = [*HEURISTICS, "common neighbours"]
arms = [resolve(name, max_candidates=20) for name in HEURISTICS] + [CommonNeighbors(max_candidates=20)]
mixture = Mixture.from_heuristics([arm.fit(graph) for arm in arms], graph.num_nodes)
sampler = NodeSampler(mixture, num_sampled=10, num_sequences=4, mode="distinct")
bandit = Exp4P(num_arms=len(arms), p_min=0.02)

# %%
# In training the significance of a drawn node is the centre's attention. Here a node matters if it has the centre's
# label, so that the right answer is known: the heuristic that proposes most nodes of the same class should win.

nodes = torch.arange(graph.num_nodes)
history = [bandit.probabilities()]
for round in range(10):
    sampled = sampler.draw(nodes, bandit.probabilities(), round)
    same = (graph.y[sampled.ids] == graph.y[sampled.nodes][:, None, None]) & sampled.mask
    significance = same * sampled.count / sampled.count.sum(dim=-1, keepdim=True).clamp(min=1)
    bandit.update(reward(sampled, significance).mean())
    history.append(bandit.probabilities())
for name, p in zip(names, bandit.probabilities().tolist(), strict=True):
    print(f"{name:18s} {p:.3f}")

# %%
# ``NodeClassifier(heuristics=["1-hop", CommonNeighbors()])`` trains with it.

fig, ax = plt.subplots(figsize=(6.4, 3.2))
ax.plot(torch.stack(history), label=names)
ax.set_xlabel("update")
ax.set_ylabel("probability")
ax.set_ylim(0)
ax.legend(fontsize=8)
fig.tight_layout()
plt.show()
