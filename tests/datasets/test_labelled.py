"""Labelled nodes as rows: what scikit-learn's splitters and searches make of them."""

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, train_test_split
from torch_geometric.data import Data

import ansgt
from ansgt.datasets import LabelledNodes
from ansgt.graph import Graph


def data(number: int = 40) -> Data:
    """Names, classes by name, unknown labels and a test part."""
    rng = np.random.default_rng(0)
    y = ["cat" if i % 2 else "dog" for i in range(number)]
    x = torch.from_numpy(rng.normal(size=(number, 4))) + 3 * (torch.arange(number) % 2)[:, None]
    edges = torch.from_numpy(rng.integers(0, number // 2, (2, 60)) * 2)
    mask = torch.arange(number) < 8
    y[30:] = [None] * (number - 30)
    names = [f"n{i}" for i in range(number)]
    edge_index = torch.cat([edges, edges.flip(0)], dim=1)
    return Data(x=x, edge_index=edge_index, y=y, test_mask=mask, node_names=names)


def classifier() -> ansgt.NodeClassifier:
    return ansgt.NodeClassifier("mlp", epochs=8, lr=0.1, normalize_features="none", device="cpu")


def test_rows_are_labelled_nodes_outside_the_test_part() -> None:
    rows = LabelledNodes(data())
    assert rows.nodes.tolist() == list(range(8, 30))
    assert rows[[3, 0]].tolist() == ["n11", "n8"]
    assert rows[[3, 0], ...].y.tolist() == ["cat", "dog"]
    first, second = train_test_split(rows, random_state=0)
    assert sorted([*first.nodes, *second.nodes]) == rows.nodes.tolist()


def test_fit_trains_on_the_rows_alone_and_answers_for_rows() -> None:
    rows = LabelledNodes(data())
    clf = classifier().fit(rows[:12])
    seen = [*clf.split_.train.tolist(), *clf.split_.val.tolist()]
    assert sorted(seen) == rows[:12].nodes.tolist()
    assert len(clf.split_.test) == 0
    assert clf.predict(rows[12:]).tolist() == clf.predict(nodes=rows[12:].tolist()).tolist()
    assert clf.score(rows[12:]) == accuracy_score(rows[12:].y, clf.predict(rows[12:]))


def test_the_test_part_of_a_graph_with_names_is_scored() -> None:
    clf = classifier().fit(data())
    assert clf.score() == accuracy_score(data().y[:8], clf.predict(nodes=[f"n{i}" for i in range(8)]))


def test_a_grid_search_picks_what_cross_validation_says() -> None:
    rows = LabelledNodes(data())
    search = GridSearchCV(classifier(), {"lr": [0.0, 0.1], "hidden_channels": [4]}, cv=KFold(3)).fit(rows)
    assert search.best_params_ == {"lr": 0.1, "hidden_channels": 4}
    by_hand = [
        classifier().set_params(lr=0.1, hidden_channels=4).fit(rows[train]).score(rows[test])
        for train, test in KFold(3).split(rows)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert len(search.best_estimator_.split_.train) + len(search.best_estimator_.split_.val) == len(rows)
    assert search.predict(rows).shape == (len(rows),)


def test_scorers_of_scikit_learn_with_labels() -> None:
    rows = LabelledNodes(data())
    scores = cross_val_score(classifier(), rows, rows.y, scoring="f1_macro", cv=2)
    assert scores.shape == (2,)
    assert scores.mean() > 0.5
    assert set(cross_val_predict(classifier(), rows, rows.y, cv=2)) == {"cat", "dog"}


def test_a_graph_without_names() -> None:
    graph = Graph.from_arrays(torch.eye(6), torch.tensor([[0, 1], [2, 3]]), [0, 1, 0, -1, 1, 0])
    rows = LabelledNodes(graph)
    assert rows.tolist() == [0, 1, 2, 4, 5]
    assert repr(rows).startswith("LabelledNodes(5 of Graph(")
