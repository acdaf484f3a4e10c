"""Metrics against scikit-learn and numbers worked out by hand; what class weights do to rare classes."""

import warnings
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest
import torch
from sklearn import metrics
from torch_geometric.data import Data

import ansgt
from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.metrics import (
    METRICS,
    accuracy_and_loss,
    all_scores,
    calibration,
    constant_scores,
    metric,
)
from ansgt.settings import Selected, TrainSettings
from ansgt.training import class_weights


def test_scores_are_those_of_scikit_learn(scored: tuple[np.ndarray, np.ndarray]) -> None:
    probabilities, label = scored
    found, predicted = all_scores(probabilities, label), probabilities.argmax(axis=1)
    exact = probabilities.astype(np.float64)
    exact /= exact.sum(axis=1, keepdims=True)
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(label, predicted),
            "balanced_accuracy": metrics.balanced_accuracy_score(label, predicted),
            "macro_f1": metrics.f1_score(label, predicted, average="macro"),
            "roc_auc": metrics.roc_auc_score(label, exact, multi_class="ovr"),
            "log_loss": metrics.log_loss(label, exact),
            "brier": np.mean(np.sum((exact - np.eye(4)[label]) ** 2, axis=1)),
            "calibration_error": found["calibration_error"],
        },
        rel=1e-5,
    )
    binary = exact[:, :2] / exact[:, :2].sum(axis=1, keepdims=True)
    for score in (binary, binary.round(1)):  # the latter has ties
        assert metric("roc_auc")(score, label % 2) == metrics.roc_auc_score(label % 2, score[:, 1])


def test_accuracy_and_loss_by_hand() -> None:
    probabilities = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    accuracy, loss = accuracy_and_loss(probabilities, torch.tensor([0, 1, 1]))
    assert accuracy == pytest.approx(2 / 3)
    assert loss == pytest.approx(-np.log([0.5, 0.1, 0.8]).mean(), rel=1e-6)


def test_classes_that_do_not_occur_and_parts_without_nodes() -> None:
    probabilities = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = all_scores(probabilities, np.array([0, 1, 1]))
        alone = all_scores(probabilities, np.array([1, 1, 1]))
        nothing = all_scores(probabilities[:0], np.array([], dtype=int))
    assert found["balanced_accuracy"] == pytest.approx((1 + 1 / 2) / 2)
    assert found["roc_auc"] == pytest.approx((1.0 + 0.5) / 2)  # of classes 0 and 1; class 2 does not occur
    assert np.isnan(alone["roc_auc"])
    assert alone["accuracy"] == pytest.approx(1 / 3)
    assert all(np.isnan(value) for value in nothing.values())


def test_calibration_by_hand() -> None:
    confidence = np.array([0.55, 0.6, 0.95, 1.0])
    right = np.array([True, False, True, True])
    low, high = calibration(confidence, right)
    assert (low.low, low.high, low.count) == pytest.approx((0.5, 0.6, 2))
    assert (low.confidence, low.accuracy) == pytest.approx((0.575, 0.5))
    assert (high.count, high.accuracy) == (2, 1.0)


def test_a_constant_guess() -> None:
    found = constant_scores(np.array([0, 0, 0, 1]), 3)
    assert found["accuracy"] == 0.75
    assert found["balanced_accuracy"] == found["roc_auc"] == 0.5
    assert found["log_loss"] == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))
    assert found["calibration_error"] == pytest.approx(0)


def test_names() -> None:
    assert {*METRICS, "loss", "official"} == set(get_args(Selected))
    assert [metric("official", name).name for name in ("tolokers", "ogbn-arxiv", "mine")] == [
        "roc_auc",
        "accuracy",
        "accuracy",
    ]
    assert metric("loss") is METRICS["log_loss"]
    for wrong in ("acuracy", 3, ["accuracy"]):
        with pytest.raises(InputError, match="Unknown metric"):
            metric(wrong)  # type: ignore[arg-type]


def rare(seed: int) -> Data:
    """600 nodes, 1 of 20 of the rare class. All of these have a trait that more nodes of the other class have."""
    rng, number = np.random.RandomState(seed), np.arange(600)
    y = (number % 20 == 0).astype(int)
    trait = np.where(y, 1, rng.rand(600) < 0.08)
    edges = np.stack([number, rng.randint(0, 600, 600)])
    part = number // 20 % 4
    masks = {name: torch.from_numpy(part == k) for name, k in (("val_mask", 2), ("test_mask", 3))}
    return Data(
        x=torch.tensor(np.stack([trait, 1 - trait], 1), dtype=torch.float32),
        edge_index=torch.from_numpy(np.concatenate([edges, edges[::-1]], axis=1)),
        y=torch.from_numpy(y),
        train_mask=torch.from_numpy(part < 2),
        **masks,
    )


MODELS = {
    "mlp": {"epochs": 40, "hidden_channels": 16},
    "ansgt": {
        "epochs": 10,
        "num_layers": 1,
        "num_augmentations": 2,
        "num_sampled": 4,
        "hidden_channels": 16,
        "num_heads": 2,
        "lr": 1e-2,
        "warmup_epochs": 2,
    },
}


def test_weights_by_hand() -> None:
    graph, config = Graph.from_data(rare(0)), RunConfig("x", "gcn", "given")
    split = Split.from_masks(
        *(getattr(rare(0), f"{part}_mask") for part in ("train", "val", "test")), "given"
    )
    share = float(graph.y[split.train].double().mean())

    def weights(asked: object) -> list[float]:
        found = class_weights(replace(config, train=TrainSettings(class_weight=asked)), graph, split)  # type: ignore[arg-type]
        assert found is not None
        return found.tolist()

    assert weights("balanced") == pytest.approx([0.5 / (1 - share), 0.5 / share])
    assert weights({1: 3}) == weights({"1": 3.0}) == pytest.approx([1 / (1 + 2 * share), 3 / (1 + 2 * share)])
    assert weights({0: 0})[0] == 0
    for asked, words in (
        ({2: 1}, "class in class_weight '2'"),
        ({0: -1}, "at least 0"),
        ({0: 0, 1: 0}, "weight 0"),
    ):
        with pytest.raises(InputError, match=words):
            weights(asked)
    assert class_weights(config, graph, split) is None


@pytest.mark.parametrize("model", MODELS)
def test_balanced_weights_find_the_rare_class(model: str) -> None:
    """Every single node is rather of the common class, so that is what accuracy asks for; the record says what it costs."""
    data, settings = rare(0), {**MODELS[model], "normalize_features": "none", "device": "cpu"}
    with pytest.warns(UserWarning, match=r"Class 1 is never predicted.*class_weight=balanced"):
        plain = ansgt.NodeClassifier(model, **settings).fit(data)
    assert set(plain.predict()) == {0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        balanced = ansgt.NodeClassifier(model, class_weight="balanced", select="macro_f1", **settings).fit(
            data
        )
    assert balanced.score(metric="macro_f1") > plain.score(metric="macro_f1") + 0.2
    assert plain.score() == plain.scores().constant["accuracy"] == 0.95
    row = balanced.history_[balanced._fitted().folder.split(0).result()["best_epoch"]]
    assert row["val_macro_f1"] == max(one["val_macro_f1"] for one in balanced.history_)
