"""One conformance suite over every coarsener, and exact values on tiny graphs."""

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from coarsening_cases import check
from hypothesis import given, settings
from hypothesis import strategies as st

from ansgt.coarsening import COARSENERS, VariationNeighborhoods, resolve
from ansgt.coarsening.subspace import forget
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.testing import path_graph, power_law_graph, random_graph, star_graph

ALL = sorted(COARSENERS)
RATES = (0.01, 0.05, 0.1, 0.5, 1.0)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rate", RATES)
def test_contract(name, rate):
    graph = random_graph(120, num_isolated=15)
    coarse = resolve(name, rate=rate).fit(graph)
    check(graph, coarse)
    assert coarse.reason is None
    assert coarse.num_supernodes == int(np.ceil(rate * 120))


@pytest.mark.parametrize("name", ALL)
def test_one_seed_gives_one_assignment_on_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr("ansgt.coarsening.clustering.SERIAL_BELOW", 0)  # let small graphs use threads too
    graph = power_law_graph(700, num_features=4)
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS), 1):
            numba.set_num_threads(threads)
            forget(graph)
            found.append(resolve(name, rate=0.1, seed=3).fit(graph).assignment)
            assert numba.get_num_threads() == threads
    finally:
        numba.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("name", ["vn", "ve", "jc", "heavy-edge"])
def test_the_seed_matters(name):
    graph = random_graph(600)
    one, other = (resolve(name, rate=0.2, seed=seed).fit(graph).assignment for seed in (0, 1))
    assert not np.array_equal(one, other)


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["empty", "random", "star", "path", "clique", "pairs", "isolated"]))
    if kind == "star":
        edges = [(0, j) for j in range(1, n)]
    elif kind == "path":
        edges = [(i, i + 1) for i in range(n - 1)]
    elif kind == "clique":
        edges = [(i, j) for i in range(n) for j in range(i)]
    elif kind == "pairs":
        edges = [(i, i + 1) for i in range(0, n - 1, 2)]
    elif kind == "empty":
        edges = []
    else:
        linked = n if kind == "random" else max(1, n // 2)
        pair = st.tuples(st.integers(0, linked - 1), st.integers(0, linked - 1))
        edges = draw(st.lists(pair, max_size=80))
    edge_index = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    width = draw(st.integers(0, 3))
    x = np.random.default_rng(n).normal(size=(n, width)).astype(np.float32)
    return Graph.from_arrays(x, edge_index, name=kind)


@settings(deadline=None, max_examples=50)
@given(graphs(), st.sampled_from(ALL), st.sampled_from((0.001, 0.1, 0.3, 0.5, 1.0)), st.integers(0, 2))
def test_any_graph_gives_a_partition(graph, name, rate, seed):
    coarse = resolve(name, rate=rate, seed=seed).fit(graph)
    check(graph, coarse)
    assert coarse.num_supernodes == max(1, int(np.ceil(rate * graph.num_nodes - 1e-9)))


@settings(deadline=None, max_examples=25)
@given(graphs(), st.sampled_from(["vn", "ve", "jc", "heavy-edge"]))
def test_stop_never_joins_components(graph, name):
    coarse = resolve(name, num_supernodes=1, below_components="stop").fit(graph)
    check(graph, coarse)
    assert coarse.num_supernodes == coarse.num_components
    assert (coarse.reason is None) == (coarse.num_components == 1)


def test_exact_values_on_a_path():
    coarse = VariationNeighborhoods(num_supernodes=1).fit(path_graph(4, num_features=2))
    assert coarse.assignment.tolist() == [0, 0, 0, 0]
    np.testing.assert_allclose(coarse.P.toarray(), np.full((4, 1), 0.5))
    np.testing.assert_allclose(coarse.adj.toarray(), [[6 / 4]])
    np.testing.assert_allclose(coarse.x.numpy(), [[0.5, 0.5]])
    np.testing.assert_allclose(coarse.x_mean.numpy(), [[0.25, 0.25]])


def test_sparse_features_give_the_same_coarse_features():
    graph = random_graph(80)
    sparse = Graph.from_arrays(sp.csr_array(graph.features), graph.adj)
    one, other = (VariationNeighborhoods(rate=0.2).fit(g) for g in (graph, sparse))
    np.testing.assert_array_equal(one.assignment, other.assignment)
    torch.testing.assert_close(one.x, other.x)


def test_a_hub_does_not_stall_the_matchings():
    for name in ("vn", "ve", "jc", "heavy-edge"):
        coarse = resolve(name, num_supernodes=20).fit(star_graph(400))
        assert (coarse.num_supernodes, coarse.reason) == (20, None)
        assert coarse.largest_share <= 0.41


def test_no_cluster_swallows_the_graph():
    graph = power_law_graph(2000, mean_degree=6)
    for name in ("vn", "ve", "jc", "heavy-edge", "louvain"):
        assert resolve(name, rate=0.01).fit(graph).largest_share <= 0.4


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"rate": 0.0}, "rate must be in"),
        ({"rate": 1.5}, "1.5"),
        ({"rate": float("nan")}, "nan"),
        ({"num_supernodes": 0}, "at least 1"),
        ({"below_components": "maybe"}, "maybe"),
    ],
)
def test_bad_settings(settings_, message):
    with pytest.raises(InputError, match=message):
        VariationNeighborhoods(**settings_)


def test_bad_requests_of_a_graph():
    with pytest.raises(InputError, match="5 but the graph has 4 nodes"):
        VariationNeighborhoods(num_supernodes=5).fit(path_graph(4))
    graph = random_graph(30, num_isolated=10)
    with pytest.raises(InputError, match="components"):
        VariationNeighborhoods(num_supernodes=3, below_components="error").fit(graph)
    with pytest.raises(InputError, match=r"Unknown coarsener 'xx'; known: .*vn"):
        resolve("xx")


def test_resolve_takes_an_object():
    coarsener = VariationNeighborhoods(rate=0.3)
    assert resolve(coarsener) is coarsener
    assert repr(resolve("ve", num_supernodes=3, seed=2)) == "VariationEdges(num_supernodes=3, seed=2)"
