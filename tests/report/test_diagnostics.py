"""Diagnostics against scikit-learn and numbers worked out by hand."""

import numpy as np
import pytest
from sklearn import metrics

from ansgt.report.diagnostics import diagnose


def test_scores_are_those_of_scikit_learn(scored: tuple[np.ndarray, np.ndarray]) -> None:
    probabilities, label = scored
    found, predicted = diagnose(probabilities, label), probabilities.argmax(axis=1)
    assert np.array_equal(found.confusion, metrics.confusion_matrix(label, predicted))
    precision, recall, f1, support = metrics.precision_recall_fscore_support(label, predicted)
    for c, row in enumerate(found.classes):
        assert (row.precision, row.recall, row.f1) == pytest.approx((precision[c], recall[c], f1[c]))
        assert row.support == support[c]
    assert found.accuracy == pytest.approx(metrics.accuracy_score(label, predicted))
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(label, predicted))
    assert found.macro_f1 == pytest.approx(metrics.f1_score(label, predicted, average="macro"))
    assert found.log_loss == pytest.approx(metrics.log_loss(label, probabilities), rel=1e-5)
    brier = np.mean(np.sum((probabilities - np.eye(4)[label]) ** 2, axis=1))
    assert found.brier == pytest.approx(brier, rel=1e-5)
    assert found.count == 300


def test_calibration_error_by_hand() -> None:
    confidence = np.array([0.55, 0.6, 0.95, 1.0])
    right = np.array([True, False, True, True])
    probabilities = np.stack([confidence, 1 - confidence], axis=1)
    found = diagnose(probabilities, np.where(right, 0, 1))
    assert found.calibration_error == pytest.approx(0.5 * 0.075 + 0.5 * 0.025)


def test_a_class_that_is_never_predicted_and_one_that_is_not_there() -> None:
    probabilities = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])
    found = diagnose(probabilities, np.array([0, 1]))
    assert found.never_predicted == [1]
    assert found.classes[1].recall == 0
    assert found.classes[1].precision is None
    assert found.classes[2].f1 is None
    assert found.macro_f1 == pytest.approx((2 / 3 + 0) / 2)
