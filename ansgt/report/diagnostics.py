"""What a table of class probabilities says beside its accuracy: confusions, numbers per class, calibration."""

from dataclasses import dataclass

import numpy as np

from ansgt.arrays import brief_repr
from ansgt.metrics import METRICS, Bin, calibration

SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "calibration_error", "brier", "log_loss")
"""Metrics that the page shows."""


@dataclass(frozen=True)
class ClassRow:
    """One class among scored nodes; a share is None where it would be 0 / 0.

    Args:
        support: nodes that have this class.
        predicted: nodes that were given it.
        precision: share of the predicted ones that have it.
        recall: share of those that have it that were given it.
        f1: harmonic mean of the two, 2 tp / (support + predicted).
    """

    support: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What scored nodes tell of a model.

    Args:
        confusion: nodes of class i that were given class j [C, C], int64.
        classes: one row per class.
        bins: calibration; empty bins are left out.
        accuracy: share of right predictions.
        balanced_accuracy: mean recall over the classes that occur.
        macro_f1: mean F1 over the classes that occur or were predicted.
        calibration_error: sum over bins of count / n * |accuracy - confidence| (Naeini et al., 2015).
        brier: mean over nodes of sum_c (p_c - [y = c])^2.
        log_loss: mean of -log p_y.
    """

    confusion: np.ndarray
    classes: list[ClassRow]
    bins: list[Bin]
    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    calibration_error: float
    brier: float
    log_loss: float
    __repr__ = brief_repr

    @property
    def count(self) -> int:
        return int(self.confusion.sum())

    @property
    def never_predicted(self) -> list[int]:
        """Classes that occur and that no node was given."""
        return [c for c, row in enumerate(self.classes) if row.support and not row.predicted]


def diagnose(probabilities: np.ndarray, label: np.ndarray) -> Diagnosis:
    """Scores class probabilities [n, C] against known labels [n], n >= 1."""
    num_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    confusion = np.bincount(label * num_classes + predicted, minlength=num_classes**2)
    confusion = confusion.reshape(num_classes, num_classes)
    classes = _class_rows(confusion)
    bins = calibration(probabilities.max(axis=1).astype(np.float64), predicted == label)
    return Diagnosis(
        confusion=confusion,
        classes=classes,
        bins=bins,
        **{name: METRICS[name](probabilities, label) for name in SCORES},
    )


def _class_rows(confusion: np.ndarray) -> list[ClassRow]:
    right, support, given = np.diag(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    return [
        ClassRow(int(n), int(m), _share(tp, m), _share(tp, n), _share(2 * tp, n + m))
        for tp, n, m in zip(right, support, given, strict=True)
    ]


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None
