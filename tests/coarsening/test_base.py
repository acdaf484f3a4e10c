"""One conformance suite over every coarsener, and exact values on tiny graphs."""

from dataclasses import dataclass, replace
from zlib import crc32

import numba
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from ansgt.coarsening import (
    COARSENERS,
    AlgebraicJC,
    CoarsenerLike,
    HeavyEdge,
    VariationEdges,
    VariationNeighborhoods,
    fit_coarsener,
    resolve,
    warm_up,
)
from ansgt.coarsening.base import Stopwatch, steady_threads, worker_threads
from ansgt.coarsening.contraction import Contracted, coarse_adjacency, coarse_features, membership
from ansgt.coarsening.multilevel import forget
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.storage import DiskCache
from ansgt.testing import (
    check_coarse,
    check_coarsener,
    path_graph,
    power_law_graph,
    random_graph,
    star_graph,
)

ALL = sorted(COARSENERS)
RATES = (0.01, 0.05, 0.1, 0.5, 1.0)


@pytest.mark.parametrize("name", ALL)
def test_conformance(name):
    check_coarsener(COARSENERS[name])


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("rate", RATES)
def test_contract(name, rate):
    graph = random_graph(120, num_isolated=15)
    coarse = resolve(name, rate=rate).fit(graph)
    check_coarse(graph, coarse)
    assert coarse.reason is None
    assert coarse.num_supernodes == int(np.ceil(rate * 120))
    assert coarse.levels == 0 if rate == 1 else coarse.levels > 0


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("graph", [random_graph(60, num_isolated=5), power_law_graph(50), star_graph(12)])
def test_loops_stay_within_their_arrays(name, graph, uncompiled):
    expected = resolve(name, rate=0.3).fit(graph)
    forget(graph)
    found = uncompiled(lambda: resolve(name, rate=0.3).fit(graph))
    assert found.assignment.tolist() == expected.assignment.tolist()


@pytest.mark.parametrize("name", ALL)
def test_one_seed_gives_one_assignment_on_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr("ansgt.coarsening.base.SERIAL_BELOW", 0)  # let small graphs use threads too
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


ALWAYS = {
    ("vn", 0): "a6a7d96c d4ebd58e 17fe8aaf",
    ("vn", 1): "a89fcb99 eb15a414 592dd68c",
    ("vn", 2): "654c3b93 5868fd08 b2fd1f03",
    ("ve", 0): "e005bfb1 95af4319 3742640e",
    ("ve", 1): "c1d85822 2b7c5ca2 553e0660",
    ("ve", 2): "2cdbe261 29621961 1aee3e74",
    ("jc", 0): "d00b1c49 0b1da306 374888fd",
    ("jc", 1): "1e0fc56e 70a7f1e2 01c7e235",
    ("jc", 2): "063e8573 21b32949 b50c5174",
    ("heavy-edge", 0): "e08a125b 7e3c01b0 67d00316",
    ("heavy-edge", 1): "652e6688 8482d715 bb171806",
    ("heavy-edge", 2): "07bcde3d fb14cbe2 933ccaef",
}
"""CRC-32 of the super-nodes of a graph at rates 0.03, 0.2 and 0.5."""


@pytest.mark.parametrize(("name", "number"), ALWAYS)
def test_super_nodes_are_what_they_always_were(name, number):
    """Bit for bit, on any processor: a record of an earlier version is read with the super-nodes that it had."""
    graph = (
        random_graph(150, 5.0, seed=1),
        random_graph(400, 4.0, num_isolated=6, seed=2),
        power_law_graph(300),
    )[number]
    made = [resolve(name, rate=rate, seed=7).fit(graph).assignment for rate in (0.03, 0.2, 0.5)]
    assert " ".join(f"{crc32(assignment.tobytes()):08x}" for assignment in made) == ALWAYS[name, number]


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
    check_coarse(graph, coarse)
    assert coarse.num_supernodes == max(1, int(np.ceil(rate * graph.num_nodes - 1e-9)))


@settings(deadline=None, max_examples=25)
@given(graphs(), st.sampled_from(["vn", "ve", "jc", "heavy-edge"]))
def test_stop_never_joins_components(graph, name):
    coarse = resolve(name, num_supernodes=1, below_components="stop").fit(graph)
    check_coarse(graph, coarse)
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
def test_bad_settings_are_refused_by_fit_not_by_the_constructor(settings_, message):
    coarsener = VariationNeighborhoods(**settings_)
    with pytest.raises(InputError, match=message):
        coarsener.fit(path_graph(4))


def test_bad_requests_of_a_graph():
    with pytest.raises(InputError, match="5 but the graph has 4 nodes"):
        VariationNeighborhoods(num_supernodes=5).fit(path_graph(4))
    graph = random_graph(30, num_isolated=10)
    with pytest.raises(InputError, match="components"):
        VariationNeighborhoods(num_supernodes=3, below_components="error").fit(graph)
    with pytest.raises(InputError, match=r"Unknown coarsener 'xx'; known: .*vn"):
        resolve("xx")


@dataclass(frozen=True)
class Settings:
    """What `fit_coarsener` reads."""

    num_supernodes: int = 3
    coarsening_method: str | CoarsenerLike = "ve"
    coarsening_rate: float = 0.5
    super_features: str = "paper"


class Halves:
    """A coarsener of a user's own, without a base: the first and the second half of the nodes."""

    def fit(self, graph):
        coarse = HeavyEdge(rate=1.0).fit(graph)
        start = Contracted.from_graph(graph)
        assignment = np.arange(graph.num_nodes, dtype=np.int64) * 2 // graph.num_nodes
        m = int(assignment[-1]) + 1
        x, x_mean = coarse_features(graph, assignment, m)
        return replace(
            coarse,
            assignment=assignment,
            P=membership(assignment, m),
            x=x,
            x_mean=x_mean,
            adj=coarse_adjacency(start, assignment, m),
            num_supernodes=m,
            rate_reached=m / graph.num_nodes,
            largest_share=float(np.bincount(assignment).max() / graph.num_nodes),
        )


def test_resolve_takes_a_name_or_an_object():
    coarsener, own = VariationNeighborhoods(rate=0.3), Halves()
    assert resolve(coarsener) is coarsener
    assert resolve(own, rate=0.5) is own
    assert repr(resolve("ve", num_supernodes=3, seed=2)) == "VariationEdges(num_supernodes=3, seed=2)"
    for wrong in (3, Halves, None):
        with pytest.raises(InputError, match=r"A coarsener is a name .*vn, ve.* or an object with fit, not"):
            resolve(wrong)


def test_a_coarse_graph_from_settings(tmp_path):
    graph = random_graph(60)
    expected = VariationEdges(rate=0.5, seed=4).fit(graph)
    found = fit_coarsener(Settings(), graph, seed=4, cache=DiskCache(tmp_path))
    np.testing.assert_array_equal(found.assignment, expected.assignment)
    assert torch.equal(found.x, expected.x)
    assert len(list(tmp_path.rglob("*.npz"))) == 0  # the graph keeps its subspace: nothing to store
    means = fit_coarsener(Settings(super_features="mean"), graph, seed=4)
    assert torch.equal(means.x, expected.x_mean)
    assert fit_coarsener(Settings(num_supernodes=0), graph) is None


def test_how_a_coarse_graph_is_shown():
    coarse = VariationEdges(rate=0.5).fit(random_graph(60))
    assert "assignment=int64[60]" in repr(coarse)
    assert len(repr(coarse)) < 400
    html = coarse._repr_html_()
    assert f"<td>{coarse.num_supernodes}</td>" in html.replace(' style="text-align:right"', "")
    assert "share of the largest" in html


def test_a_coarsener_of_a_users_own():
    check_coarsener(Halves)
    coarse = fit_coarsener(Settings(coarsening_method=Halves()), path_graph(4))
    assert coarse.assignment.tolist() == [0, 0, 1, 1]


def test_own_settings_come_after_those_of_the_base():
    jc = AlgebraicJC(0.2, None, 7, num_vectors=3)
    assert (jc.rate, jc.num_supernodes, jc.seed, jc.num_vectors, jc.sweeps) == (0.2, None, 7, 3, None)


@pytest.mark.parametrize("name", ALL)
def test_warm_up_leaves_the_coarsener_alone(name):
    coarsener = resolve(name, num_supernodes=2, seed=5)
    warm_up(coarsener)
    assert (coarsener.num_supernodes, coarsener.seed) == (2, 5)


def test_seconds_of_phases_add_up(monkeypatch):
    now = [5.0]
    monkeypatch.setattr("ansgt.coarsening.base.time.perf_counter", lambda: now[0])
    watch = Stopwatch()
    for phase, seconds in (("levels", 2.0), ("subspace", 0.5), ("levels", 1.0)):
        with watch(phase):
            now[0] += seconds
    assert watch.seconds() == {"levels": 3.0, "subspace": 0.5, "total": 3.5}


def test_how_many_super_nodes_a_rate_asks_for():
    graph = random_graph(100)
    for rate, number in ((0.07, 7), (0.071, 8), (0.001, 1), (1.0, 100)):  # 0.07 * 100 is a little over 7
        coarse = HeavyEdge(rate=rate).fit(graph)
        assert (coarse.num_supernodes, coarse.rate, coarse.rate_reached) == (number, rate, number / 100)
    asked = HeavyEdge(num_supernodes=9).fit(graph)
    assert (asked.num_supernodes, asked.rate) == (9, 0.09)
    shown = dict(asked.table().rows)
    assert (shown["super-nodes"], shown["nodes"], shown["rate reached"]) == (
        9,
        100,
        "0.0900 (asked for: 0.0900)",
    )
    assert "not as asked for" not in shown


def test_a_forked_child_that_cannot_compute_is_told_so(monkeypatch):
    monkeypatch.setattr("ansgt.turns._lost_threads", True)
    with pytest.raises(InputError, match="forked"):
        HeavyEdge().fit(path_graph())


def test_threads_are_limited_inside_and_restored_after():
    before = numba.get_num_threads()
    with steady_threads(10):
        assert numba.get_num_threads() == 1
        assert all(pool["num_threads"] == 1 for pool in threadpool_info() if pool["user_api"] == "blas")
        with worker_threads(10**9):
            assert numba.get_num_threads() == before
        assert numba.get_num_threads() == 1
    assert numba.get_num_threads() == before
