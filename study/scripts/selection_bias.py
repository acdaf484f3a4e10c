"""How much of a validation accuracy is luck of the chosen epoch, and whether another rule would choose better.

    python -m study.scripts.selection_bias --root DATA --dataset texas --split per-class-60-20-20 --models ansgt,mlp

The reported validation accuracy is the largest of many epochs, so it is optimistic, and more so with fewer nodes. Here
the epoch is chosen on one half of the validation nodes and scored on the other, over many random halves ("crossed").
The test part is never looked at. Prints one JSON object per model: the largest accuracy, and the crossed accuracy of
every rule.
"""

import argparse
import json
import time
from collections import defaultdict

import numpy as np

from ansgt.config import parse_override
from ansgt.datasets.load import Source
from ansgt.runs.prepare import prepare_run
from ansgt.storage import DiskCache
from study.scripts.one_split import train_once

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


def validation_probabilities(
    model: str, index: int, seed: int, options: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the validation nodes after every epoch [epochs, nodes, C] and their labels."""
    data, config = prepare_run(
        options.dataset,
        model,
        source=Source(options.root, options.cache),
        split=options.split,
        seed=seed,
        device=options.device,
        overrides={"num_models": 1, **dict(map(parse_override, options.override or []))},
    )
    split = data.split(options.split, index, 0)
    trained = train_once(config, data.graph, split, DiskCache(options.cache))
    return np.stack(trained.validation), data.graph.y[split.val].numpy()


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
