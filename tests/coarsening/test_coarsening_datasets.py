"""The issue's promises on the real data sets."""

import numpy as np
import pytest
from coarsening_cases import check

from ansgt.coarsening import resolve
from ansgt.coarsening.quality import quality
from ansgt.datasets import load_graph

pytestmark = pytest.mark.data

BOUNDS = {
    "cora": {"vn": 2.2, "jc": 2.3},
    "chameleon": {"vn": 0.75, "jc": 1.4},
    "actor": {"vn": 0.90, "jc": 1.15},
    "squirrel": {"vn": 0.98, "jc": 0.8},
}


@pytest.mark.parametrize("name", ["cora", "citeseer", "actor", "chameleon", "squirrel", "texas"])
def test_every_rate_is_reached(name, root, cache_dir):
    graph = load_graph(name, root=root, cache_dir=cache_dir)
    for method in ("vn", "ve", "jc"):
        for rate in (0.01, 0.05, 0.1, 0.5):
            coarse = resolve(method, rate=rate).fit(graph)
            assert coarse.num_supernodes == int(np.ceil(rate * graph.num_nodes)), (method, rate)
            assert coarse.reason is None
            again = resolve(method, rate=rate).fit(graph)
            np.testing.assert_array_equal(coarse.assignment, again.assignment)
        if graph.num_nodes < 3000:
            check(graph, coarse)


@pytest.mark.parametrize("name", ["cora", "chameleon"])
def test_quality_is_not_below_the_reference(name, root, cache_dir):
    graph = load_graph(name, root=root, cache_dir=cache_dir)
    for method, bound in BOUNDS[name].items():
        assert quality(graph, resolve(method, rate=0.1).fit(graph)).eigenvalue_error <= bound, method


def test_cora_at_the_papers_rate(root, cache_dir):
    graph = load_graph("cora", root=root, cache_dir=cache_dir)
    coarse = resolve("vn", rate=0.01).fit(graph)
    assert coarse.num_supernodes in (27, 28)
    assert coarse.num_components == 78
    assert coarse.largest_share <= 0.4
