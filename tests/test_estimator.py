"""What scikit-learn asks of an estimator: its own checks, clone, pickle, joblib."""

import inspect
import pickle
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import Tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch_geometric.data import Data

import ansgt
from ansgt.errors import InputError
from ansgt.estimator import OWN
from ansgt.runs.prepare import section_kinds
from ansgt.settings import hints

QUICK = {"epochs": 2, "device": "cpu", "hidden_channels": 8}


class RowClassifier(ansgt.NodeClassifier):
    """Rows of numbers as a graph: each row is linked to its nearest ones. scikit-learn's checks know nothing but rows.

    All that they look at is `NodeClassifier`'s own: parameters, state, copies, classes, probabilities.
    """

    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        X, y = validate_data(self, X, y, dtype=np.float32, ensure_min_samples=5)
        check_classification_targets(y)
        return super().fit(Data(x=torch.tensor(X), edge_index=self._links(X), y=y))

    def predict_proba(self, X: Any) -> np.ndarray:  # type: ignore[override]
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        return super().predict_proba(Data(x=torch.tensor(X), edge_index=self._links(X)))

    def predict(self, X: Any) -> np.ndarray:  # type: ignore[override]
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        return float((self.predict(X) == y).mean())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.no_validation = True, False
        return tags

    @staticmethod
    def _links(X: np.ndarray) -> torch.Tensor:
        near = kneighbors_graph(X, min(2, len(X) - 1)).tocoo() if len(X) > 1 else None
        return torch.zeros(2, 0, dtype=torch.int64) if near is None else torch.tensor(np.stack(near.coords))


WAIVED = {"check_classifiers_classes": "it trains on a class -1, which means here that a label is unknown"}


@parametrize_with_checks(
    [RowClassifier("mlp", epochs=8, lr=0.1, dropout=0.0, normalize_features="none", device="cpu")],
    expected_failed_checks=lambda _: WAIVED,
)
def test_the_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def data() -> Data:
    return ansgt.load_dataset("newman")


@pytest.fixture(scope="module")
def fitted(data: Data) -> ansgt.NodeClassifier:
    return ansgt.NodeClassifier("mlp", weight_decay=0.0, **QUICK).fit(data)


def test_every_listed_parameter_is_a_setting_of_that_name() -> None:
    listed = [*inspect.signature(ansgt.NodeClassifier).parameters][:-1]
    known = {name for kind in section_kinds("ansgt").values() for name in hints(kind)}
    assert set(listed) - set(OWN) <= known
    assert set(OWN) <= set(listed)
    assert len(listed) > 25


def test_parameters_that_are_listed_and_parameters_that_are_not() -> None:
    heuristics = ["1-hop"]
    clf = ansgt.NodeClassifier("gcn", lr=0.5, residual=True, heuristics=heuristics)
    params = clf.get_params()
    assert (params["residual"], params["lr"], params["dropout"]) == (True, 0.5, "default")
    assert params["heuristics"] is heuristics
    assert clf.given_settings() == {"lr": 0.5, "heuristics": ["1-hop"], "residual": True}
    copied = clone(clf.set_params(heuristics="default", norm="batch"))
    assert copied.get_params() == clf.get_params()
    assert copied.given_settings() == {"lr": 0.5, "residual": True, "norm": "batch"}
    assert "residual=True" in repr(clf)
    assert is_classifier(clf)
    with pytest.raises(InputError, match=r"Unknown setting 'nrom'.*Did you mean 'norm'"):
        clf.set_params(nrom="batch")
    with pytest.raises(InputError, match="no setting 'score'"):
        ansgt.NodeClassifier(score=3)


def test_default_and_none_of_epochs_are_what_ships(data: Data) -> None:
    assert ansgt.NodeClassifier(epochs=None).given_settings() == {}
    clf = ansgt.NodeClassifier("mlp", patience=None, **QUICK).fit(data)
    assert clf.config_.train.patience is None
    assert ansgt.NodeClassifier("mlp", **QUICK).fit(data).config_.train.patience is not None


def test_a_loaded_classifier_has_the_parameters_it_was_trained_with(
    fitted: ansgt.NodeClassifier, tmp_path: Path, data: Data
) -> None:
    fitted.save(tmp_path / "m")
    loaded = ansgt.NodeClassifier.load(tmp_path / "m", device="cpu")
    assert (loaded.lr, loaded.weight_decay, loaded.epochs) == (fitted.config_.optim.lr, 0.0, 2)
    again = clone(loaded).set_params(epochs=1).fit(data)
    assert again.config_.train.epochs == 1
    assert again.config_.settings == fitted.config_.settings


def test_not_fitted_is_known_to_both(fitted: ansgt.NodeClassifier) -> None:
    check_is_fitted(fitted)
    for kind in (NotFittedError, InputError):
        with pytest.raises(kind, match="not fitted yet"):
            clone(fitted).predict()


def test_a_notebook_shows_the_classifier_as_scikit_learn_does(fitted: ansgt.NodeClassifier) -> None:
    assert "NodeClassifier" in fitted._repr_html_()
    assert len(repr(fitted)) < 1000


def test_pickle_and_joblib_carry_parameters_and_answers(fitted: ansgt.NodeClassifier, tmp_path: Path) -> None:
    joblib.dump(fitted, tmp_path / "clf.joblib")
    for other in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "clf.joblib")):
        assert other.get_params() == fitted.get_params()
        assert np.array_equal(other.predict_proba(), fitted.predict_proba())


def test_rows_and_labels_are_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match=r"fit takes a graph.*from_edges"):
        ansgt.NodeClassifier().fit(np.eye(4), [0, 1, 0, 1])
