"""Predictions as files that other tools read."""

from pathlib import Path

import numpy as np

from ansgt.storage import write_npz, write_text


def write_predictions(path: Path, probabilities: np.ndarray, label: np.ndarray) -> None:
    """One row a node: id, predicted class, known label (-1: unknown), probabilities [C]; CSV or NPZ by the suffix."""
    predicted = probabilities.argmax(axis=1)
    if path.suffix == ".npz":
        ids = np.arange(len(predicted))
        write_npz(path, node=ids, prediction=predicted, label=label, probabilities=probabilities)
        return
    header = ["node", "prediction", "label", *(f"p{c}" for c in range(probabilities.shape[1]))]
    lines = [",".join(header)]
    for node, row in enumerate(probabilities):
        cells = [str(node), str(predicted[node]), str(label[node]), *(f"{p:.6g}" for p in row)]
        lines.append(",".join(cells))
    write_text(path, "\n".join(lines) + "\n")
