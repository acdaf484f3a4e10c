"""NodeClassifier: what a user of scikit-learn and PyG would try."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.errors import BrokenRunError, InputError
from ansgt.heuristics import Heuristic

QUICK = {
    "epochs": 3,
    "num_layers": 1,
    "num_augmentations": 2,
    "num_sampled": 5,
    "hidden_channels": 16,
    "num_heads": 2,
}


@pytest.fixture(scope="module")
def data() -> Data:
    return ansgt.load_dataset("newman")


@pytest.fixture(scope="module")
def fitted(data: Data) -> ansgt.NodeClassifier:
    return ansgt.NodeClassifier(device="cpu", **QUICK).fit(data)


def test_predict_and_score(data: Data, fitted: ansgt.NodeClassifier) -> None:
    probabilities = fitted.predict_proba()
    assert probabilities.shape == (128, 4)
    assert np.allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert np.array_equal(fitted.predict(), probabilities.argmax(axis=1))
    truth = data.y.numpy()[data.test_mask.numpy()]
    expected = (fitted.predict()[data.test_mask.numpy()] == truth).mean()
    assert fitted.score(data.test_mask) == pytest.approx(expected)
    assert fitted.score() == fitted.score(data.test_mask.nonzero().flatten()) == fitted.score("test")
    assert fitted.score("val") == fitted.score(data.val_mask)
    assert np.array_equal(fitted.predict(nodes=[3, 4]), fitted.predict()[[3, 4]])


def test_save_and_load_give_the_same_predictions(fitted: ansgt.NodeClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    fitted.save(tmp_path / "m")  # replaces the older one
    loaded = ansgt.NodeClassifier.load(tmp_path / "m", device="cpu")
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert not list((tmp_path / "m").rglob("*.pkl"))
    loaded.save(tmp_path / "again")
    assert np.array_equal(ansgt.NodeClassifier.load(tmp_path / "again").predict(), fitted.predict())


def test_explain(fitted: ansgt.NodeClassifier, tmp_path: Path) -> None:
    explanation = fitted.explain(42, top=4)
    assert len(explanation.attended) == 4
    assert sum(explanation.kinds.values()) == pytest.approx(1)
    assert sum(explanation.heuristics.values()) == pytest.approx(1)
    significances = [row.significance for row in explanation.attended]
    assert significances == sorted(significances, reverse=True)
    for row in explanation.attended:
        assert sum(row.heuristics.values()) == pytest.approx(1)
        assert row.node != 42
        assert row.distance is None or row.distance >= 1
        assert (row.heuristics["1-hop"] > 0) == (row.distance == 1)
        assert row.prediction == fitted.predict()[row.node]
    assert explanation.prediction == fitted.predict()[42]
    assert "node 42" in str(explanation)
    explanation.plot(tmp_path / "e.png")
    assert (tmp_path / "e.png").stat().st_size > 5000
    with pytest.raises(InputError, match="Node 999 does not exist"):
        fitted.explain(999)


def test_a_graph_that_grew(data: Data, fitted: ansgt.NodeClassifier) -> None:
    x = torch.cat([data.x, data.x[:2]])
    links = torch.stack(
        [torch.tensor([128] * 5 + [129] * 5), torch.tensor([1, 2, 3, 4, 5, 33, 34, 35, 36, 37])]
    )
    grown = Data(x=x, edge_index=torch.cat([data.edge_index, links], dim=1))
    assert fitted.predict(grown).shape == (130,)
    agreement = (fitted.predict(grown)[:128] == fitted.predict()).mean()
    assert agreement > 0.7
    with pytest.raises(InputError, match="3 features, but the model was trained with 200"):
        fitted.predict(Data(x=torch.ones(5, 3), edge_index=torch.zeros(2, 0, dtype=torch.int64)))


def small(**changes: object) -> Data:
    rng = np.random.default_rng(0)
    y = torch.arange(30) % 2
    x = torch.from_numpy(rng.normal(size=(30, 6))) + 2 * y[:, None]
    values = {"x": x, "edge_index": torch.from_numpy(rng.integers(0, 25, (2, 80))), "y": y}
    return Data(**(values | changes))


CASES = {
    "no masks, float64": {},
    "no val_mask": {"train_mask": torch.arange(30) < 20, "test_mask": torch.arange(30) >= 20},
    "sparse features": {"x": small().x.to_sparse_csr()},
    "unknown labels": {"y": torch.where(torch.arange(30) < 5, -1, torch.arange(30) % 2)},
    "loops and duplicates": {
        "edge_index": torch.cat([small().edge_index] * 2 + [torch.arange(30).repeat(2, 1)], dim=1)
    },
    "no edges at all": {"edge_index": torch.zeros(2, 0, dtype=torch.int64)},
    "isolated nodes": {"edge_index": torch.tensor([[0, 1, 2], [1, 2, 3]])},
}


@pytest.mark.parametrize("case", CASES)
def test_odd_but_fine_inputs(case: str) -> None:
    data = small(**CASES[case])
    before = {key: value.clone() for key, value in data.to_dict().items()}
    clf = ansgt.NodeClassifier(device="cpu", **QUICK).fit(data)
    assert clf.predict().shape == (30,)
    assert set(clf.split_.train.tolist()).isdisjoint(clf.split_.val.tolist())
    for key, value in data.to_dict().items():
        assert value is not None
        assert before[key].to_dense().equal(value.to_dense())


BAD = {
    "two nodes": (
        Data(x=torch.eye(2), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0, 1])),
        "has 2 nodes",
    ),
    "one class": (small(y=torch.zeros(30, dtype=torch.int64)), "1 class"),
    "no labels": (small(y=None), "holds no label"),
    "one training node": (small(train_mask=torch.arange(30) == 3), "1 labelled training nodes"),
    "empty training mask": (
        small(train_mask=torch.zeros(30).bool(), val_mask=torch.ones(30).bool()),
        "train part",
    ),
    "mask of another length": (small(train_mask=torch.ones(7).bool()), "'train_mask' must have shape"),
    "NaN": (small(x=torch.full((30, 2), float("nan"))), "holds nan"),
}


@pytest.mark.parametrize("case", BAD)
def test_clear_errors(case: str) -> None:
    data, message = BAD[case]
    with pytest.raises(ValueError) as caught:
        ansgt.NodeClassifier(device="cpu", **QUICK).fit(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_fitted_and_unknown_settings(data: Data) -> None:
    with pytest.raises(InputError, match="not fitted"):
        ansgt.NodeClassifier().predict()
    with pytest.raises(InputError, match="Unknown setting 'speed'"):
        ansgt.NodeClassifier(speed=3).fit(data)
    with pytest.raises(InputError, match="Unknown model 'gnn'"):
        ansgt.NodeClassifier("gnn").fit(data)
    with pytest.raises(InputError, match="does not exist"):
        ansgt.NodeClassifier.load("nowhere")


def test_a_baseline_behind_the_same_interface(data: Data) -> None:
    clf = ansgt.NodeClassifier("gcn", epochs=20, device="cpu").fit(data)
    assert clf.score(data.test_mask) > 0.5
    found = clf.explain(3, top=5)
    assert found.heuristics == {}
    assert sum(found.kinds.values()) == pytest.approx(1)
    assert found.prediction == clf.predict()[3]
    assert all(row.distance is not None and row.distance <= 2 for row in found.attended)
    assert clf.explain(3, top=5) == found


@pytest.mark.parametrize("sampling", ["with", "distinct", "without"])
def test_a_heuristic_that_starts_at_zero_and_an_isolated_node(sampling: str) -> None:
    generator = torch.Generator().manual_seed(0)
    edges = torch.randint(37, (2, 80), generator=generator)  # the last three of 40 nodes are isolated
    data = Data(x=torch.rand(40, 6, generator=generator), edge_index=edges, y=torch.arange(40) % 3)
    settings = {**QUICK, "update_period": 1, "mode": sampling, "device": "cpu"}
    clf = ansgt.NodeClassifier(initial=[1, 0, 0, 0], **settings).fit(data)
    assert np.isfinite(clf.predict_proba(data)).all()
    with pytest.raises(InputError, match=r"model\.initial must give one heuristic"):
        ansgt.NodeClassifier(initial=[0, 0, 0, 0], **settings).fit(data)


def test_predictions_that_are_nan_are_no_predictions(data: Data, fitted: ansgt.NodeClassifier) -> None:
    huge = data.clone()
    huge.x = torch.full_like(data.x, 3e38)
    with pytest.raises(BrokenRunError, match="hold NaN or infinity"):
        fitted.predict(huge)


def test_a_misspelt_field_or_a_mask_of_numbers_is_named(data: Data) -> None:
    wrong = data.clone()
    wrong.train_masks = wrong.train_mask
    del wrong.train_mask
    with pytest.raises(InputError, match="did you mean 'train_mask'"):
        ansgt.NodeClassifier("mlp", epochs=1, device="cpu").fit(wrong)
    wrong = data.clone()
    wrong.val_mask = torch.arange(128)
    with pytest.raises(InputError, match="'val_mask' must hold true or false"):
        ansgt.NodeClassifier("mlp", epochs=1, device="cpu").fit(wrong)


def test_what_needs_more_memory_than_there_is(data: Data) -> None:
    with pytest.raises(InputError, match=r"Model 'mlp' needs about \d+\.0 GiB on this graph"):
        ansgt.NodeClassifier("mlp", hidden_channels=2**31, epochs=1, device="cpu").fit(data)
    with pytest.raises(InputError, match=r"num_layers must be in \[1, 1000\]"):
        ansgt.NodeClassifier("mlp", num_layers=10**6, device="cpu").fit(data)


def test_few_nodes_of_a_large_graph_need_their_own_rows_alone(
    data: Data, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Heuristics of a graph beyond 6,000 nodes; the rows that are computed are those of the nodes asked for."""
    fitted = ansgt.NodeClassifier(
        device="cpu", num_supernodes=0, num_proximity=2, cache_dir=tmp_path, **QUICK
    ).fit(data)
    rng = np.random.default_rng(0)
    number = 6_100
    x = torch.from_numpy(rng.random((number, fitted.graph_.num_features), dtype=np.float32))
    edges = torch.from_numpy(rng.integers(0, number, (2, 12_000)))
    large = Data(x=x, edge_index=torch.cat([edges, edges.flip(0)], dim=1))
    computed: list[int] = []
    compute = Heuristic._compute

    def counted(self: Heuristic, nodes: np.ndarray) -> object:
        computed.append(len(nodes))
        return compute(self, nodes)

    monkeypatch.setattr(Heuristic, "_compute", counted)
    some = fitted.predict_proba(large, nodes=[5, 77])
    assert computed == [2] * 4
    again = fitted.predict_proba(large.clone(), nodes=[77])  # the model on this graph is still there
    assert computed == [2] * 4 + [1] * 4
    explained = fitted.explain([77], data=large)
    assert np.allclose(explained[0].probabilities, some[1], atol=1e-5)
    assert max(computed) < 500
    assert np.allclose(again[0], some[1], atol=1e-5)
    assert np.allclose(fitted.predict_proba(large)[[5, 77]], some, atol=1e-5)
    assert max(computed) > 4_000


def test_a_graph_that_was_changed_in_place_is_noticed(data: Data, fitted: ansgt.NodeClassifier) -> None:
    changed = data.clone()
    before = fitted.predict_proba(changed, nodes=[3])
    trained = fitted._asked.last.trained
    assert np.array_equal(fitted.predict_proba(changed, nodes=[3]), before)
    assert fitted._asked.last.trained is trained
    changed.x.numpy()[3] = data.x[100].numpy()  # behind torch's back
    assert not np.array_equal(fitted.predict_proba(changed, nodes=[3]), before)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(data, nodes=[3]), before)


def test_tune_takes_over_what_it_found_and_leaves_what_was_given(data: Data, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    clf = ansgt.NodeClassifier("mlp", device="cpu", epochs=5, hidden_channels=8)
    clf.tune(data, trials=3, metric="macro_f1", study=tmp_path)
    assert (clf.epochs, clf.hidden_channels) == (5, 8)
    assert clf.tuning_["trials"] == 3
    assert clf.lr == clf.tuning_["best"]["optim.lr"]
    assert clf.fit(data).history_
    with pytest.raises(InputError, match="needs a budget"):
        ansgt.NodeClassifier("mlp", device="cpu").tune(data)
