"""Louvain communities as super-nodes, through networkx (`pip install "ansgt[communities]"`)."""

import numpy as np

from ansgt.coarsening.clustering import Clustering, Stopwatch
from ansgt.coarsening.components import Plan
from ansgt.coarsening.contraction import Contracted
from ansgt.coarsening.heavy_edge import HeavyEdge
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.storage import DiskCache


class Louvain(HeavyEdge):
    """Heavy edges inside Louvain communities first (Blondel et al. 2008), across them only when that does not suffice.

    Louvain alone cannot be told how many communities to find; this reaches the number asked for.

    Args:
        resolution: above 1 gives smaller communities.

    See `Coarsener` for the others.

    >>> from ansgt.testing import path_graph
    >>> Louvain(num_supernodes=3).fit(path_graph(9)).num_supernodes
    3
    """

    def __init__(
        self,
        rate: float = 0.1,
        num_supernodes: int | None = None,
        seed: int = 0,
        below_components: str = "merge",
        cache: DiskCache | None = None,
        resolution: float = 1.0,
    ) -> None:
        super().__init__(rate, num_supernodes, seed, below_components, cache)
        self.resolution = resolution

    def cluster(self, graph: Graph, start: Contracted, plan: Plan, watch: Stopwatch) -> Clustering:
        with watch("communities"):
            community = self.communities(graph)
        with watch("levels"):
            return self.union(start, plan, community)

    def communities(self, graph: Graph) -> np.ndarray:
        """Louvain community of every node [n]."""
        try:
            import networkx as nx
        except ImportError:
            raise InputError(
                'Coarsener "louvain" needs networkx: pip install "ansgt[communities]".'
            ) from None
        found = nx.community.louvain_communities(
            nx.from_scipy_sparse_array(graph.adj), resolution=self.resolution, seed=self.seed
        )
        community = np.empty(graph.num_nodes, dtype=np.int64)
        for name, nodes in enumerate(found):
            community[list(nodes)] = name
        return community
