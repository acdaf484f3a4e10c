"""The contract of `CoarseGraph`, and a graph whose clusters are obvious."""

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.graph import Graph


def check(graph, coarse):
    """The contract of `CoarseGraph`, each part computed densely and on its own."""
    n, m = graph.num_nodes, coarse.num_supernodes
    assert coarse.assignment.shape == (n,)
    assert coarse.assignment.dtype == np.int64
    assert sorted(set(coarse.assignment.tolist())) == list(range(m))
    one_hot = np.zeros((n, m))
    one_hot[np.arange(n), coarse.assignment] = 1
    sizes = one_hot.sum(axis=0)
    P = one_hot / np.sqrt(sizes)
    x, adj = graph.features, graph.adj.toarray()
    x = x.toarray() if sp.issparse(x) else x
    np.testing.assert_allclose(coarse.P.toarray(), P, atol=1e-12)
    np.testing.assert_allclose((coarse.P.T @ coarse.P).toarray(), np.eye(m), atol=1e-10)
    np.testing.assert_allclose(coarse.x.numpy(), P.T @ x, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(coarse.x_mean.numpy(), one_hot.T @ x / sizes[:, None], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(coarse.adj.toarray(), P.T @ adj @ P, atol=1e-5)
    assert coarse.rate_reached == m / n
    assert coarse.largest_share == sizes.max() / n
    assert coarse.seconds["total"] > 0
    assert coarse.x.dtype == coarse.x_mean.dtype == torch.float32


def two_cliques(k=8):
    """Two k-cliques joined by one edge."""
    edges = [(i, j) for block in (0, k) for i in range(block, block + k) for j in range(block, i)]
    edges.append((0, k))
    return Graph.from_arrays(np.eye(2 * k, dtype=np.float32), torch.tensor(edges).T)
