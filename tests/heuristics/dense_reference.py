"""Dense references: the paper's formulas, written as directly as possible."""

import numpy as np

from ansgt.graph import Graph


def normalized(scores: np.ndarray) -> np.ndarray:
    scores = np.maximum(scores, 0)
    np.fill_diagonal(scores, 0)
    sums = scores.sum(axis=1, keepdims=True)
    return np.divide(scores, sums, out=np.zeros_like(scores), where=sums > 0)


def dense_gcn(graph: Graph) -> np.ndarray:
    adj = graph.adj.toarray() + np.eye(graph.num_nodes)
    degree = adj.sum(axis=1)
    return adj / np.sqrt(np.outer(degree, degree))


def dense_ppr(graph: Graph, restart: float = 0.15) -> np.ndarray:
    """Row i: the walk that restarts at i, from the inverse."""
    adj = graph.adj.toarray()
    column_normalized = adj / np.maximum(adj.sum(axis=0), 1)
    system = np.eye(graph.num_nodes) - (1 - restart) * column_normalized
    return restart * np.linalg.inv(system).T


def dense_cosine(graph: Graph) -> np.ndarray:
    x = graph.x.to_dense().double().numpy()
    length = np.linalg.norm(x, axis=1)
    return (x @ x.T) / np.maximum(np.outer(length, length), 1e-300)


def dense_rows(name: str, graph: Graph) -> np.ndarray:
    """Rows of the paper's four heuristics, self excluded."""
    if name == "1-hop":
        return normalized(dense_gcn(graph))
    if name == "2-hop":
        return normalized(dense_gcn(graph) @ dense_gcn(graph))
    if name == "knn":
        return normalized(dense_cosine(graph))
    return normalized(dense_ppr(graph))
