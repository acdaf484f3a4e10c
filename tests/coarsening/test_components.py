import numpy as np
import pytest
import torch

from ansgt.coarsening import VariationNeighborhoods
from ansgt.coarsening.components import _component_features, group_components, plan_components
from ansgt.coarsening.contraction import Contracted
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.testing import path_graph


def islands(num_pairs=20, core=60, num_features=4):
    """A ring of `core` nodes and `num_pairs` two-node components of two kinds of features."""
    ring = [(i, (i + 1) % core) for i in range(core)]
    pairs = [(core + 2 * p, core + 2 * p + 1) for p in range(num_pairs)]
    x = np.zeros((core + 2 * num_pairs, num_features), dtype=np.float32)
    x[core:, 0] = np.repeat(np.arange(num_pairs) % 2, 2)
    x[core:, 1] = 1 - x[core:, 0]
    return Graph.from_arrays(x, torch.tensor(ring + pairs).T)


def plan(graph, target, mode="merge"):
    return plan_components(graph, Contracted.from_graph(graph), target, mode, 0)


def test_enough_supernodes_leave_components_alone():
    made = plan(islands(), 50)
    assert (made.target, made.num_labels, made.reason) == (50, 100, None)


def test_small_components_are_grouped_by_features_and_balanced():
    graph = islands()
    made = plan(graph, 10)  # 10 nodes on average: the 40 nodes in pairs get 4 groups
    label = made.label[60:]
    sizes = np.bincount(np.unique(label, return_inverse=True)[1])
    assert sizes.tolist() == [10, 10, 10, 10]
    for group in np.unique(label):
        assert len(np.unique(graph.features[60:][label == group], axis=0)) == 1
    assert len(np.unique(made.label[:60])) == 60


def test_rate_below_the_components_keeps_the_core_apart():
    coarse = VariationNeighborhoods(num_supernodes=10).fit(islands())
    core, rest = set(coarse.assignment[:60].tolist()), set(coarse.assignment[60:].tolist())
    assert (len(core), len(rest)) == (6, 4)
    assert not core & rest
    assert coarse.num_components == 21
    assert coarse.largest_share <= 0.2


def test_a_core_keeps_its_fair_share_although_every_pair_could_have_a_supernode():
    """22 super-nodes for 21 components: one for each pair would leave two for the core, which holds 60 % of the nodes."""
    coarse = VariationNeighborhoods(num_supernodes=22).fit(islands())
    core, rest = set(coarse.assignment[:60].tolist()), set(coarse.assignment[60:].tolist())
    assert (len(core), len(rest)) == (13, 9)  # 60 and 40 nodes at 100 / 22 each
    assert not core & rest
    assert (coarse.num_supernodes, coarse.reason) == (22, None)


def test_stop_and_error():
    made = plan(islands(), 10, "stop")
    assert made.target == 21
    assert "21 components" in made.reason
    with pytest.raises(InputError, match="10 super-nodes asked for but the graph has 21 components"):
        plan(islands(), 10, "error")
    assert plan(islands(), 21, "error").reason is None


def test_groups_without_features_are_balanced():
    graph = islands()
    bare = Graph.from_arrays(np.ones((100, 1), dtype=np.float32), graph.adj)
    start = Contracted.from_graph(bare)
    group = group_components(bare, start, np.arange(1, 21), 7, 0)
    assert group[0] == -1
    assert sorted(np.bincount(group[1:]).tolist()) == [2, 3, 3, 3, 3, 3, 3]


def test_cap_grows_with_the_average_and_is_bounded():
    assert plan(path_graph(1000), 100).cap == 200
    assert plan(path_graph(1000), 500).cap == 180
    assert plan(path_graph(100), 50).cap == 40
    assert plan(path_graph(1000), 10).cap == 400
    assert plan(path_graph(1000), 2).cap == 750
    assert plan(path_graph(1000), 1).cap >= 1000


def test_components_are_grouped_only_where_the_others_would_be_crowded():
    """A core of 60 nodes gets what 20 pairs leave: 3 super-nodes of 23 hold over four times the average, 4 of 24 do not."""
    assert [plan(islands(), target).num_labels < 100 for target in (22, 23, 24)] == [True, True, False]
    assert [made.average for made in (plan(islands(), 22), plan(islands(), 40))] == [100 / 22, 2.5]


@pytest.mark.parametrize(("width", "sketched"), [(32, 32), (33, 32)])
def test_features_of_components_are_means_of_length_one(width, sketched):
    rng = np.random.default_rng(0)
    graph = Graph.from_arrays(rng.normal(size=(7, width)), np.array([[0, 1, 3], [1, 2, 4]]))
    start = Contracted.from_graph(graph)  # components 0 1 2, 3 4, 5, 6
    found = _component_features(graph, start, np.array([0, 1, 3]), np.random.default_rng(3))
    means = np.stack([graph.features[nodes].mean(axis=0) for nodes in ([0, 1, 2], [3, 4], [6])])
    if width > sketched:
        means = means @ (np.random.default_rng(3).standard_normal((width, 32)) / np.sqrt(32))
    np.testing.assert_allclose(found, means / np.linalg.norm(means, axis=1, keepdims=True), atol=1e-5)
