"""How much of a validation accuracy is luck of the chosen epoch, and whether another rule would choose better.

    python benchmarks/selection_bias.py --root DATA --dataset texas --split per-class-60-20-20 --models ansgt,mlp --seeds 2

The reported validation accuracy is the largest of many epochs, so it flatters, the more the fewer nodes there are. Here
the epoch is chosen on one half of the validation nodes and scored on the other, over many random halves ("crossed").
The test part is never looked at. One JSON object a model: the largest accuracy, and the crossed one of every rule.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

HALVES = 40


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    """Mean over the `width` epochs around each, the ends repeated."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.convolve(padded, np.full(width, 1 / width), "valid").round(9)


def chosen_epochs(hit: np.ndarray, loss: np.ndarray) -> dict[str, int]:
    """Rule -> epoch, from hits and losses [epochs, nodes]; ties in accuracy go to the smaller loss, as in training."""
    accuracy, mean_loss = hit.mean(axis=1), loss.mean(axis=1)

    def best(score: np.ndarray) -> int:
        return int(np.lexsort((mean_loss, -score))[0])

    return {
        "accuracy": best(accuracy),
        "loss": int(mean_loss.argmin()),
        "accuracy over 5 epochs": best(smooth(accuracy, 5)),
        "accuracy over 15 epochs": best(smooth(accuracy, 15)),
        "last": len(accuracy) - 1,
    }


def crossed(probabilities: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> dict[str, float]:
    """Rule -> accuracy on the half that did not choose; probabilities [epochs, nodes, C]."""
    hit = (probabilities.argmax(axis=2) == y).astype(float)
    loss = -np.log(probabilities[:, np.arange(len(y)), y] + 1e-12)
    scores: dict[str, list[float]] = defaultdict(list)
    for _ in range(HALVES):
        one, other = np.array_split(rng.permutation(len(y)), 2)
        for choose, judge in ((one, other), (other, one)):
            for rule, epoch in chosen_epochs(hit[:, choose], loss[:, choose]).items():
                scores[rule].append(hit[epoch, judge].mean())
    return {rule: float(np.mean(values)) for rule, values in scores.items()}


@contextmanager
def kept_validation(model: str, split: Any) -> Iterator[list[np.ndarray]]:
    """A block in which every prediction of the split's validation nodes is kept [nodes, C], one an epoch."""
    from ansgt.training.build import learner_class

    learner: Any = learner_class(model)
    predict, kept = learner.predict_proba, []

    def keep(self: Any, nodes: Any) -> Any:
        probabilities = predict(self, nodes)
        if len(nodes) == len(split.val) and bool((nodes.cpu() == split.val).all()):
            kept.append(probabilities.numpy())
        return probabilities

    learner.predict_proba = keep
    try:
        yield kept
    finally:
        learner.predict_proba = predict


def validation_probabilities(
    model: str, index: int, seed: int, options: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the validation nodes after every epoch [epochs, nodes, C] and their labels."""
    from ansgt.pipeline import prepare_run
    from ansgt.storage import DiskCache
    from ansgt.training.fit import train_split

    shared = {"root": options.root, "device": options.device, "cache_dir": options.cache}
    overrides = ["restarts=1", *(options.override or [])]
    data, config = prepare_run(
        options.dataset, model, split=options.split, overrides=overrides, seed=seed, **shared
    )
    split = data.split(options.split, index, 0)
    with kept_validation(model, split) as kept, tempfile.TemporaryDirectory() as folder:
        train_split(config, data.graph, split, Path(folder), DiskCache(options.cache), None, 1e9)
    return np.stack(kept), data.graph.y[split.val].numpy()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--split", default="per-class-60-20-20")
    parser.add_argument("--models", default="ansgt")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--override", "-o", action="append")
    parser.add_argument("--root", default="data")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cache", default="/tmp/ansgt-cache")
    options = parser.parse_args()
    for model in options.models.split(","):
        started, largest, rules = time.perf_counter(), [], defaultdict(list)
        for seed in range(options.seeds):
            for index in range(options.splits):
                rng = np.random.default_rng([seed, index])
                probabilities, y = validation_probabilities(model, index, seed, options)
                largest.append(float((probabilities.argmax(axis=2) == y).mean(axis=1).max()))
                for rule, accuracy in crossed(probabilities, y, rng).items():
                    rules[rule].append(accuracy)
        record = {"model": model, "dataset": options.dataset, "split": options.split}
        record |= {"splits": options.splits, "seeds": options.seeds, "overrides": options.override or []}
        record |= {"largest": round(float(np.mean(largest)), 4)}
        record |= {"crossed": {rule: round(float(np.mean(values)), 4) for rule, values in rules.items()}}
        print(json.dumps(record | {"seconds": round(time.perf_counter() - started, 1)}), flush=True)


if __name__ == "__main__":
    main()
