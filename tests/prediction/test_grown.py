"""What is predicted of a graph that grew is what a model predicts that was built for it anew."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.errors import InputError
from ansgt.runs.reopen import FinishedRun
from ansgt.testing import power_law_graph

pytestmark = pytest.mark.filterwarnings("ignore:Class")
NUMBER = 400
Edges = list[tuple[int, int]]
N = NUMBER
CASES: dict[str, tuple[int, Edges, list[int]]] = {
    "one": (1, [(N, 9), (N, 50), (N, 77)], [N, 9]),
    "other": (1, [(N, 100), (N, 6)], [N]),
    "several, linked to each other": (
        3,
        [(N, 9), (N, N + 1), (N + 1, N + 2), (N + 2, 40)],
        [N, N + 1, N + 2],
    ),
    "isolated": (1, [], [N, 5]),
    "a component of its own": (2, [(N, N + 1)], [N, 100]),
    "joins components": (1, [(N, 0), (N, 3), (N, 100)], [N, 0, 100]),
    "loop and doubled": (1, [(N, N), (N, 9), (N, 9)], [N]),
    "a hub": (1, [(N, other) for other in range(100, 300)], [N]),
    "none": (0, [], [7]),
    "between older ones": (1, [(N, 9), (33, 44)], [N, 33]),
}


@pytest.fixture(scope="module")
def data() -> Data:
    """With two small components, {0, 1} and {2, 3}, and an isolated node."""
    rng, edges = np.random.default_rng(0), power_law_graph(NUMBER, 6).edge_index
    apart = edges[:, ~(edges < 5).any(dim=0)]
    part = torch.arange(NUMBER)
    return Data(
        x=torch.from_numpy(rng.normal(size=(NUMBER, 8)).astype(np.float32)),
        edge_index=torch.cat([apart, torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])], dim=1),
        y=torch.from_numpy(rng.integers(0, 3, NUMBER)),
        train_mask=part < 60,
        val_mask=(part >= 60) & (part < 90),
    )


@pytest.fixture(autouse=True)
def _large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("heuristics.base", "heuristics.knn", "heuristics.hops", "heuristics.ppr", "planner"):
        monkeypatch.setattr(f"ansgt.{module}.SMALL", 50)


def fitted(data: Data, **settings: object) -> ansgt.NodeClassifier:
    own = {"num_layers": 1, "hidden_channels": 16, "num_augmentations": 1, "num_sampled": 8, **settings}
    return ansgt.NodeClassifier("ansgt", epochs=1, device="cpu", **own).fit(data)


@pytest.fixture(scope="module")
def clf(data: Data, tmp_path_factory: pytest.TempPathFactory) -> ansgt.NodeClassifier:
    return fitted(data, num_supernodes=3, cache_dir=tmp_path_factory.mktemp("cache"))


def grown(data: Data, number: int, edges: Edges) -> Data:
    new = torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T
    x = torch.cat([data.x, 1.01 * data.x[50 : 50 + number]])
    return Data(x=x, edge_index=torch.cat([data.edge_index, new, new.flip(0)], dim=1))


def anew(clf: ansgt.NodeClassifier, data: Data, nodes: list[int]) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FinishedRun, "grows", False)
        patch.setattr(clf, "_asked", None)
        found: np.ndarray = clf.predict_proba(data, nodes=nodes)
    return found


def test_predictions_are_those_of_a_model_built_anew(data: Data, clf: ansgt.NodeClassifier) -> None:
    clf.predict(grown(data, *CASES["a hub"][:2]), nodes=[N])
    older = clf._asked.older  # type: ignore[union-attr]
    for name, (number, edges, nodes) in CASES.items():
        other = grown(data, number, edges)
        assert np.array_equal(clf.predict_proba(other, nodes=nodes), anew(clf, other, nodes)), name
        if name != "between older ones":
            assert clf._asked.older is older, f"{name}: nothing of all nodes was computed again"  # type: ignore[union-attr]


def test_prepared_features_and_several_models_grow(data: Data, tmp_path: Path) -> None:
    settings = {"normalize_features": "row", "size_columns": True, "num_models": 2}
    clf = fitted(data, num_supernodes=0, cache_dir=tmp_path, **settings)
    for name in ("one", "a component of its own"):
        number, edges, nodes = CASES[name]
        other = grown(data, number, edges)
        assert np.array_equal(clf.predict_proba(other, nodes=nodes), anew(clf, other, nodes)), name


@pytest.mark.filterwarnings("ignore:Left out of the edges")
def test_what_is_no_growth_is_noticed(data: Data, clf: ansgt.NodeClassifier) -> None:
    number, edges, nodes = CASES["one"]
    clf.predict(grown(data, *CASES["other"][:2]), nodes=[N])
    fewer, changed = grown(data, number, edges), grown(data, number, edges)
    fewer.edge_index = fewer.edge_index[:, 3:]
    changed.x[77] += 1
    order = torch.randperm(fewer.edge_index.shape[1])
    shuffled = Data(x=fewer.x, edge_index=fewer.edge_index[:, order], y=torch.zeros(N + 1))
    for other in (fewer, changed, shuffled):
        assert np.array_equal(clf.predict_proba(other, nodes=nodes), anew(clf, other, nodes))
    changed.x[N, 2] = torch.nan
    with pytest.raises(InputError, match="Field 'x' holds nan at node 400, feature 2"):
        clf.predict(changed, nodes=nodes)
    before = clf.predict_proba(shuffled, nodes=nodes)
    shuffled.x.numpy()[N] += 1  # behind torch's back
    assert not np.array_equal(clf.predict_proba(shuffled, nodes=nodes), before)


def test_a_graph_can_be_grown_by_hand(data: Data, clf: ansgt.NodeClassifier) -> None:
    other = grown(data, 1, [(N, 9), (N, 50)])
    graph = clf.graph_.grown(other.x[N:], [[N, N], [9, 50]])
    assert np.array_equal(graph.indices, ansgt.Graph.from_data(other).indices)
    assert np.array_equal(clf.predict_proba(graph, nodes=[N]), anew(clf, other, [N]))
    assert clf.explain([N], data=graph)[0].node == N
    assert clf._asked.last.trained.trained_on.nonzero()[0].tolist() == [*range(60)]  # type: ignore[union-attr]
    with pytest.raises(InputError, match=r"Every edge of Graph\.grown has a new node"):
        clf.graph_.grown(other.x[N:], [[3], [9]])
    with pytest.raises(InputError, match="Field 'x' has 7 features, but the graph has 8"):
        clf.graph_.grown(other.x[N:, :7], [[N], [9]])
