"""`NodeClassifier`: fit, predict, explain, save, load; on any PyG `Data`, in the manner of scikit-learn."""

import json
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.config import RunConfig, build_config
from ansgt.datasets import Dataset
from ansgt.datasets.custom import write_graph
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.report.explanation import Explanation, explain_node
from ansgt.storage import default_cache_dir, make_folder
from ansgt.training import model_defaults, resolve_device, section_defaults
from ansgt.training.evaluate import load_learner, load_run, move_learner, predict_all
from ansgt.training.fit import Report, run
from ansgt.training.result import score


class NodeClassifier:
    """Classifies the nodes of a graph with ANS-GT (or a baseline).

    Args:
        model: "ansgt" or the name of a baseline.
        epochs: training epochs; None: the shipped setting.
        seed: of initialisation, draws, and of the validation nodes held out when the data has none.
        device: "auto", "cpu", "cuda", "cuda:<number>".
        val_fraction: share of the training nodes held out when the data has no `val_mask`.
        settings: any other setting by its name (`num_sampled=10`, `lr=1e-3`, ...), as for `ansgt train -o`.

    >>> import ansgt
    >>> data = ansgt.load_dataset("newman")
    >>> clf = ansgt.NodeClassifier(epochs=3, num_layers=1, num_augmentations=1).fit(data)
    >>> clf.predict().shape
    (128,)
    """

    def __init__(
        self,
        model: str = "ansgt",
        *,
        epochs: int | None = None,
        seed: int = 0,
        device: str = "auto",
        val_fraction: float = 0.2,
        cache_dir: Path | str | None = None,
        **settings: Any,
    ) -> None:
        self.model = model
        self.epochs = epochs
        self.seed = seed
        self.device = device
        self.val_fraction = val_fraction
        self.cache_dir = cache_dir
        self.settings = settings

    def fit(self, data: Any, report: Report | None = None) -> "NodeClassifier":
        """Trains on `data.train_mask`, selects on `data.val_mask`; neither mask is required.

        Args:
            data: a PyG `Data` with `x`, `edge_index`, `y`; labels of -1 are unknown. Without `train_mask` every labelled
                node outside `val_mask` and `test_mask` is trained on.
            report: called after every epoch with a `Progress`.
        """
        graph = Graph.from_data(data)
        _check_learnable(graph)
        split = _split_of(data, graph, self.val_fraction, self.seed).check(graph)
        config = self._config(graph)
        dataset = Dataset("graph", "graph.npz", graph, "given", {"given": [split]})
        self._folder = tempfile.TemporaryDirectory(prefix="ansgt-")
        cache = self.cache_dir or default_cache_dir()
        run(config, dataset, self._folder.name, cache_dir=cache, report=report)
        write_graph(Path(self._folder.name) / "graph.npz", graph, split)
        return self._open(Path(self._folder.name))

    def predict(self, data: Any = None, nodes: Any = None) -> np.ndarray:
        """Class of every node (or of `nodes`) [n], int64; of another graph with the same features when `data` is given."""
        return self.predict_proba(data, nodes).argmax(axis=1)

    def predict_proba(self, data: Any = None, nodes: Any = None) -> np.ndarray:
        """Class probabilities [n, C], float32; `data` may be the training graph grown by nodes and edges, or another one."""
        self._check_fitted()
        graph, learner = self.graph_, self.learner_
        if data is not None:
            graph = Graph.from_data(data)
            learner = move_learner(learner, self.config_, self.graph_, graph, self.cache_dir)
        return predict_all(learner, self.config_, 0, _indices(nodes, graph.num_nodes)).numpy()

    def score(self, mask: Any = None) -> float:
        """Accuracy on the given nodes (mask or indices; default: the test part)."""
        self._check_fitted()
        nodes = self.split_.test if mask is None else _indices(mask, self.graph_.num_nodes)
        if len(nodes) == 0:
            raise InputError("There is nothing to score: the mask is empty.")
        if bool((self.graph_.y[nodes] < 0).any()):
            raise InputError("The mask holds nodes without a label.")
        return score(torch.from_numpy(self.predict_proba(nodes=nodes)), self.graph_.y[nodes])[0]

    def explain(self, node: int, top: int = 15) -> Explanation:
        """Which nodes `node` attended to, how much, and which heuristic brought each of them."""
        self._check_fitted()
        return explain_node(self.learner_, self.graph_, node, top)

    def save(self, path: Path | str) -> None:
        """Writes a run directory (safetensors, JSON, npz) that `load` and the `ansgt` verbs read; replaces an older one."""
        self._check_fitted()
        target = make_folder(path)
        for old in target.glob("split-*"):
            shutil.rmtree(old)
        shutil.copytree(self._path, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".lock"))

    @classmethod
    def load(
        cls, path: Path | str, device: str = "auto", cache_dir: Path | str | None = None
    ) -> "NodeClassifier":
        """What `save` wrote; also any finished run directory on a user's own graph."""
        folder, config, _ = load_run(path, device=device, cache_dir=cache_dir)
        sections = {part: asdict(getattr(config, part)) for part in ("optim", "train", "data")}
        sections["model"] = config.settings
        settings = {
            f"{part}.{name}": value for part, values in sections.items() for name, value in values.items()
        }
        clf = cls(config.model, seed=config.seed, device=device, cache_dir=cache_dir, **settings)
        return clf._open(folder.path)

    def _open(self, path: Path) -> "NodeClassifier":
        """Takes the trained learner from a run directory, the same way after `fit` as after `load`."""
        folder, config, dataset = load_run(path, device=self.device, cache_dir=self.cache_dir)
        self._path, self.config_, self.graph_ = path, config, dataset.graph
        self.learner_, self.split_ = load_learner(folder, config, dataset, 0, self.cache_dir)
        self.classes_ = np.arange(self.graph_.num_classes)
        self.history_ = folder.metrics(0)
        return self

    def _config(self, graph: Graph) -> RunConfig:
        overrides = [f"{name}={json.dumps(value)}" for name, value in self.settings.items()]  # JSON is YAML
        if self.epochs is not None:
            overrides.append(f"train.epochs={self.epochs}")
        return build_config(
            graph.name,
            self.model,
            "given",
            model_defaults=model_defaults(self.model),
            section_defaults=section_defaults(self.model),
            seed=self.seed,
            device=resolve_device(self.device),
            overrides=overrides,
        )

    def _check_fitted(self) -> None:
        if not hasattr(self, "learner_"):
            raise InputError("This NodeClassifier is not fitted yet: call fit(data) or load(path) first.")


def _check_learnable(graph: Graph) -> None:
    if graph.num_nodes < 3:
        raise InputError(f"The graph has {graph.num_nodes} nodes; training and validation need at least 3.")
    if graph.num_classes < 2:
        raise InputError(f"Field 'y' has {graph.num_classes} class(es); classification needs at least 2.")


def _split_of(data: Any, graph: Graph, val_fraction: float, seed: int) -> Split:
    """The split that the data's masks say, completed where they say nothing."""
    labelled = graph.y >= 0
    masks = {part: _mask(data, f"{part}_mask", graph.num_nodes) for part in ("train", "val", "test")}
    test = masks["test"] if masks["test"] is not None else torch.zeros_like(labelled)
    val, train = masks["val"], masks["train"]
    if train is None:
        train = labelled & ~test if val is None else labelled & ~test & ~val
    nodes = (train & labelled).nonzero().flatten()
    if val is not None:
        return Split(
            nodes, (val & labelled).nonzero().flatten(), (test & labelled).nonzero().flatten(), "given"
        )
    if not 0 < val_fraction < 1:
        raise InputError(f"val_fraction must be in (0, 1), not {val_fraction}.")
    if len(nodes) < 2:
        raise InputError(
            f"There are {len(nodes)} labelled training nodes; holding some out for validation needs 2."
        )
    order = torch.from_numpy(np.random.RandomState(seed % 2**32).permutation(len(nodes)))
    held = min(max(1, round(val_fraction * len(nodes))), len(nodes) - 1)
    kept = nodes[order]
    return Split(kept[held:], kept[:held], (test & labelled).nonzero().flatten(), "given")


def _mask(data: Any, name: str, num_nodes: int) -> Tensor | None:
    value = getattr(data, name, None)
    if value is None:
        return None
    mask = torch.as_tensor(value).bool().cpu()
    if mask.shape != (num_nodes,):
        raise InputError(f"Field '{name}' must have shape [{num_nodes}], not {list(mask.shape)}.")
    return mask


def _indices(nodes: Any, num_nodes: int) -> Tensor:
    """Indices from None (all), a boolean mask or indices."""
    if nodes is None:
        return torch.arange(num_nodes)
    chosen = torch.as_tensor(nodes).cpu()
    if chosen.dtype == torch.bool:
        if chosen.shape != (num_nodes,):
            raise InputError(f"The mask must have shape [{num_nodes}], not {list(chosen.shape)}.")
        return chosen.nonzero().flatten()
    chosen = chosen.to(torch.int64).reshape(-1)
    if len(chosen) and (int(chosen.min()) < 0 or int(chosen.max()) >= num_nodes):
        wrong = int(chosen.min()) if int(chosen.min()) < 0 else int(chosen.max())
        raise InputError(f"Node {wrong} does not exist: the graph has {num_nodes} nodes.")
    return chosen
