"""Where the class is nothing but the number of words, words alone say little and `size_columns` all."""

import numpy as np
import scipy.sparse as sp
import torch

from ansgt.datasets import Dataset
from ansgt.features import size_columns
from ansgt.graph import Graph
from study.scripts.feature_size import validation_accuracy


def test_the_number_of_words_is_found() -> None:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], 100))
    x = np.zeros((300, 400), dtype=np.float32)
    for node, label in enumerate(y):
        x[node, rng.choice(400, size=(2, 5, 9)[label], replace=False)] = 1.0
    graph = Graph.from_arrays(torch.from_numpy(x), np.array([[0], [1]]), y)
    dataset = Dataset("counts", "test", graph, "uniform-60-20-20")
    words = sp.csr_array(x)
    sized = sp.csr_array(np.hstack([x, size_columns(graph.x).numpy()]))
    alone = validation_accuracy(words, dataset, "uniform-60-20-20", 2)
    assert alone < 0.9
    assert validation_accuracy(sized, dataset, "uniform-60-20-20", 2) > max(0.98, alone)
