"""Metrics of class probabilities: what an epoch can be chosen by, and what every result says of a part.

What scikit-learn has too has scikit-learn's numbers, without the second that its import takes. A constant guess stands
beside each number: the best that a model can say which gives every node the same probabilities, those of the scored
nodes' own classes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ansgt.errors import unknown_name

if TYPE_CHECKING:
    from ansgt.table import Table

BINS = 10
"""Of confidence, equally wide."""


def accuracy_and_loss(probabilities: Tensor, labels: Tensor) -> tuple[float, float]:
    """Accuracy and mean cross-entropy of class probabilities [k, C] against labels [k]; NaN where k = 0."""
    if len(labels) == 0:
        return float("nan"), float("nan")
    accuracy = float((probabilities.argmax(dim=-1) == labels).double().mean())
    chosen = probabilities.double().gather(1, labels[:, None]).clamp(min=1e-12)
    return accuracy, float(-chosen.log().mean())


def _accuracy(probabilities: np.ndarray, label: np.ndarray) -> float:
    return float((probabilities.argmax(axis=1) == label).mean())


def _balanced_accuracy(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Mean recall over the classes that occur."""
    hits, true, _ = _counts(probabilities, label)
    return float((hits[true > 0] / true[true > 0]).mean())


def _macro_f1(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Mean F1 over the classes that occur or were predicted: 2 hits / (nodes of the class + predictions of it)."""
    hits, true, predicted = _counts(probabilities, label)
    both = true + predicted
    return float((2 * hits[both > 0] / both[both > 0]).mean())


def _counts(probabilities: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per class [C]: nodes of it that were predicted, nodes of it, predictions of it."""
    predicted, size = probabilities.argmax(axis=1), probabilities.shape[1]
    hits = np.bincount(label[predicted == label], minlength=size)
    return hits, np.bincount(label, minlength=size), np.bincount(predicted, minlength=size)


def _roc_auc(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Of class 1 against class 0; of more classes the mean of one against the rest, over those that occur."""
    num_classes = probabilities.shape[1]
    classes = [1] if num_classes == 2 else range(num_classes)
    told = [c for c in classes if 0 < (label == c).sum() < len(label)]
    each = [_area(label == c, probabilities[:, c]) for c in told]
    return float(np.mean(each)) if each else float("nan")


def _area(positive: np.ndarray, score: np.ndarray) -> float:
    """Under the curve of true positives against false positives, as the threshold falls; equal scores come at once."""
    order = np.argsort(score, kind="stable")[::-1]
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # of those of one score
    hits = np.cumsum(positive[order], dtype=np.float64)[last]
    misses = 1.0 + last - hits
    if len(last) > 2:  # on a straight line the ends say all
        is_corner = np.diff(misses, 2).astype(bool) | np.diff(hits, 2).astype(bool)
        kept = np.concatenate([[True], is_corner, [True]])
        hits, misses = hits[kept], misses[kept]
    hits, misses = np.append(0.0, hits), np.append(0.0, misses)
    height, width = hits / hits[-1], np.diff(misses / misses[-1])
    return float((width * (height[1:] + height[:-1]) / 2.0).sum())


def _log_loss(probabilities: np.ndarray, label: np.ndarray) -> float:
    chosen = probabilities[np.arange(len(label)), label].astype(np.float64)
    return float(-np.log(chosen.clip(min=1e-12)).mean())


def _brier(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Mean over nodes of sum_c (p_c - [y = c])^2; of two classes it is twice what is often printed."""
    chosen = probabilities[np.arange(len(label)), label].astype(np.float64)
    return float(((probabilities.astype(np.float64) ** 2).sum(axis=1) - 2 * chosen + 1).mean())


def _calibration_error(probabilities: np.ndarray, label: np.ndarray) -> float:
    """Sum over bins of count / n * |accuracy - confidence| (Naeini et al., 2015)."""
    bins = calibration(probabilities.max(axis=1).astype(np.float64), probabilities.argmax(axis=1) == label)
    return sum(b.count * abs(b.accuracy - b.confidence) for b in bins) / len(label)


@dataclass(frozen=True)
class Metric:
    """One number of class probabilities [n, C] and labels [n].

    Args:
        name: by which settings and options know it.
        words: by which people know it.
        function: computes it; n >= 1.
        sign: 1 where more is better, -1 where less is.
        percent: whether people write it in percent.
    """

    name: str
    words: str
    function: Callable[[np.ndarray, np.ndarray], float]
    sign: int = 1
    percent: bool = True

    def __call__(self, probabilities: np.ndarray, label: np.ndarray) -> float:
        """NaN where there is nothing to score."""
        return self.function(probabilities, label) if len(label) else float("nan")

    @property
    def scale(self) -> int:
        """What a value is multiplied by where people read it."""
        return 100 if self.percent else 1

    @property
    def unit(self) -> str:
        return " %" if self.percent else ""

    def shown(self, value: float | None) -> str:
        """
        >>> METRICS["macro_f1"].shown(0.8123), METRICS["log_loss"].shown(0.8123), METRICS["brier"].shown(None)
        ('81.23 %', '0.8123', '-')
        """
        if value is None or value != value:
            return "-"
        return f"{100 * value:.2f} %" if self.percent else f"{value:.4f}"


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "accuracy", _accuracy),
        Metric("balanced_accuracy", "balanced accuracy", _balanced_accuracy),
        Metric("macro_f1", "macro-F1", _macro_f1),
        Metric("roc_auc", "ROC AUC", _roc_auc),
        Metric("log_loss", "log loss", _log_loss, -1, percent=False),
        Metric("brier", "Brier score", _brier, -1, percent=False),
        Metric("calibration_error", "calibration error", _calibration_error, -1),
    )
}
OFFICIAL = {"minesweeper": "roc_auc", "tolokers": "roc_auc", "questions": "roc_auc"}
"""Data sets whose benchmark asks for another metric than accuracy: the binary ones of Platonov et al. (2023). OGB's data
sets of one label per node, and that benchmark's others, ask for accuracy."""


def metric(name: str, dataset: str = "") -> Metric:
    """A metric by its name; "loss" is "log_loss", "official" that of the data set.

    >>> metric("official", "tolokers").name, metric("official", "ogbn-arxiv").name
    ('roc_auc', 'accuracy')
    """
    if isinstance(name, str):
        name = {"loss": "log_loss", "official": OFFICIAL.get(dataset, "accuracy")}.get(name, name)
    if not isinstance(name, str) or name not in METRICS:
        raise unknown_name("metric", name, [*METRICS, "official"])
    return METRICS[name]


def all_scores(probabilities: np.ndarray, label: np.ndarray) -> dict[str, float]:
    """Every metric by its name."""
    return {name: metric(probabilities, label) for name, metric in METRICS.items()}


def constant_scores(label: np.ndarray, num_classes: int) -> dict[str, float]:
    """What a constant guess scores: for every node the classes' shares among the labels [n]."""
    shares = np.bincount(label, minlength=num_classes) / max(len(label), 1)
    return all_scores(np.broadcast_to(shares, (len(label), num_classes)), label)


@dataclass(frozen=True, repr=False)
class Scores:
    """Every metric of some nodes beside that of a constant guess; `scores["macro_f1"]` is a number.

    Args:
        values: metric -> value.
        constant: metric -> value of a constant guess.
        num_nodes: how many were scored.
    """

    values: Mapping[str, float]
    constant: Mapping[str, float]
    num_nodes: int

    @classmethod
    def of(cls, probabilities: np.ndarray, label: np.ndarray) -> "Scores":
        """Of class probabilities [n, C] against labels [n]."""
        constant = constant_scores(label, probabilities.shape[1])
        return cls(all_scores(probabilities, label), constant, len(label))

    def __getitem__(self, name: str) -> float:
        return self.values[metric(name).name]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"values": dict(self.values), "constant": dict(self.constant), "num_nodes": self.num_nodes}

    def table(self) -> "Table":
        """A row per metric."""
        from ansgt.table import Table

        rows = [
            [one.words, one.shown(self.values[name]), one.shown(self.constant[name])]
            for name, one in METRICS.items()
        ]
        return Table(["metric", "value", "a constant guess"], rows, f"scores of {self.num_nodes:,} nodes")

    def __repr__(self) -> str:
        return self.table().text().rstrip()

    def _repr_html_(self) -> str:
        return self.table().html()


@dataclass(frozen=True)
class Bin:
    """Nodes of similar confidence.

    Args:
        low, high: the confidence is in (low, high].
        count: how many nodes.
        confidence: their mean largest probability.
        accuracy: share of them that is right.
    """

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def calibration(confidence: np.ndarray, right: np.ndarray, number: int = BINS) -> list[Bin]:
    """Bins of confidence [n] in (0, 1], and how often the nodes of each are right [n, bool]; empty ones are left out.

    >>> [(b.count, b.accuracy) for b in calibration(np.array([0.85, 0.9, 0.31]), np.array([True, False, True]))]
    [(1, 1.0), (2, 0.5)]
    """
    edges = np.linspace(0, 1, number + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, number - 1)
    return [
        Bin(
            float(edges[b]),
            float(edges[b + 1]),
            int(inside.sum()),
            float(confidence[inside].mean()),
            float(right[inside].mean()),
        )
        for b in range(number)
        if (inside := place == b).any()
    ]
