"""How well the number of a node's words predicts its class: logistic regression without any graph.

    python -m study.scripts.feature_size --root DATA --datasets actor,chameleon > study/results/tried/feature_size.json

Mean validation accuracy of ten splits: features as published, `size_columns` alone, both, and features without their
magnitude (divided by their sum; a LayerNorm leaves no more of them). The largest of three strengths of regularisation
each. Nothing is chosen by epoch, and the test part is never looked at.
"""

import argparse
import json
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from ansgt.datasets import load
from ansgt.features import size_columns

STRENGTHS = (0.1, 0.3, 1.0)
KINDS = ("uniform-60-20-20", "per-class-60-20-20")


def validation_accuracy(features: sp.csr_array, dataset: Any, kind: str, num_splits: int) -> float:
    """Best of STRENGTHS by its mean over the splits."""
    from sklearn.linear_model import LogisticRegression

    y = dataset.graph.y.numpy()
    means = []
    for strength in STRENGTHS:
        scores = []
        for index in range(num_splits):
            split = dataset.split(kind, index, 0)
            train, val = split.train.numpy(), split.val.numpy()
            model = LogisticRegression(C=strength, max_iter=200).fit(features[train], y[train])
            scores.append(float((model.predict(features[val]) == y[val]).mean()))
        means.append(float(np.mean(scores)))
    return max(means)


def measure(name: str, root: str, num_splits: int) -> list[dict[str, Any]]:
    dataset = load(name, root)
    words = sp.csr_array(dataset.graph.features)
    size = sp.csr_array(size_columns(dataset.graph.x).numpy())
    sums = np.maximum(np.abs(words).sum(axis=1), 1e-12)
    inputs = {
        "words": words,
        "size": size,
        "words_and_size": sp.csr_array(sp.hstack([words, size])),
        "words_without_magnitude": sp.csr_array(sp.diags_array(sums.mean() / sums) @ words),
    }
    return [
        {
            "dataset": name,
            "split": kind,
            "splits": num_splits,
            "mean_size": round(float(words.nnz / words.shape[0]), 1),
            **{
                what: round(validation_accuracy(features, dataset, kind, num_splits), 4)
                for what, features in inputs.items()
            },
        }
        for kind in KINDS
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--datasets", default="actor,chameleon,squirrel,cora,citeseer,texas,cornell,wisconsin"
    )
    parser.add_argument("--root", default="data")
    parser.add_argument("--splits", type=int, default=10)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="lbfgs failed")
    rows = [
        row for name in options.datasets.split(",") for row in measure(name, options.root, options.splits)
    ]
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
