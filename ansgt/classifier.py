"""`NodeClassifier`: fit, predict, explain, save, load; on any PyG `Data`, in the manner of scikit-learn."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np
import torch

from ansgt.config import RunConfig, setting_names
from ansgt.datasets import Dataset
from ansgt.errors import InputError
from ansgt.estimator import NodeEstimator, NotFittedInputError
from ansgt.graph import Graph
from ansgt.prediction import TrainedModel
from ansgt.runs.folder import GRAPH, RunFolder
from ansgt.runs.private import PrivateFolder
from ansgt.runs.reopen import FinishedRun
from ansgt.settings import hints
from ansgt.storage import DiskCache, default_cache_dir
from ansgt.turns import turn

if TYPE_CHECKING:
    from ansgt.datasets.growth import Growth, Known
    from ansgt.metrics import Scores
    from ansgt.prediction.explanation import Explanation, Explanations
    from ansgt.prediction.faithfulness import Faithfulness
    from ansgt.settings import Space

ROWS = (
    "fit takes a graph, and its labels with it: fit(data). Rows without edges have no graph; give "
    "ansgt.from_edges(edges, features, labels), or take another classifier of scikit-learn."
)


HERE_ALONE = ("_folder", "_trained", "_asked")
"""Attributes that neither pickle nor copy takes along."""


@dataclass(frozen=True, eq=False)
class _Moved:
    """The trained model on a graph that was asked about.

    Args:
        content: of that graph, as it was given.
        for_few: whether no more was computed than some nodes need.
        trained: the model.
    """

    content: tuple[Any, ...] | None
    for_few: bool
    trained: TrainedModel


@dataclass(frozen=True, eq=False)
class _Older:
    """The trained model on the graph that others grow from."""

    known: "Known"
    trained: TrainedModel


class _Asked:
    """The graph that was asked about last; an object of its own, since asking must not change the estimator."""

    last: _Moved | None = None
    older: _Older | None = None


class NodeClassifier(NodeEstimator):
    """Classifies the nodes of a graph with ANS-GT (or a baseline); an estimator of scikit-learn.

    Settings are keywords, with the names of `ansgt train -o`; "default" is what ships for the model. Those that are used
    most are listed; any other (`restart_prob=0.2`) is taken as well.

    Args:
        model: "ansgt", the name of a baseline, a `NodeModel` class of one's own, or "auto": experts of all families. None is
            "auto" where `effort` or `time_limit` is given, else "ansgt".
        seed: of initialisation, draws, and of the validation nodes held out when the data has none.
        device: "auto", "cpu", "cuda", "cuda:<number>".
        val_fraction: share of the training nodes held out when the data has no `val_mask`.
        cache_dir: where heuristics and spectra are kept between fits; None: the user's cache.
        effort: "quick" (one small model), "default" (the preset that facts of the graph choose, of every family where no
            model is named) or "best" (several presets of each); experts are weighted on validation. None: the settings
            that ship, and those given here.
        time_limit: seconds that `fit` may take; they are used for experts, as with "best".
        epochs, patience: training epochs, and after how many without progress training ends (None: never).
        select: validation score that picks the epoch: accuracy, loss, or another metric of `score`.
        class_weight: "balanced": every class counts alike in the loss, however rare it is; or class -> weight; None: 1.
        calibrate: probabilities are scaled on the validation part, so that confidences mean what they say.
        num_models: models trained from different seeds, which predict together.
        lr, weight_decay, batch_size: of the optimizer.
        hidden_channels, num_layers, num_heads, dropout, input_dropout: of the model.
        num_sampled, num_augmentations, num_inference: nodes in a sequence; sequences per node, in training and prediction.
        num_supernodes, num_global: super-nodes and global nodes in a sequence.
        sampling: "adaptive", "fixed", or one heuristic.
        heuristics: what is mixed: names, or objects with `fit` and `rows`.
        update_period: epochs between two updates of the sampling weights.
        coarsening_method, coarsening_rate: how super-nodes are made, and how many per node.
        normalize_features, link_features: what the model sees of a node.
        settings: any other setting.

    >>> import ansgt
    >>> data = ansgt.load_dataset("newman")
    >>> clf = ansgt.NodeClassifier(epochs=3, num_layers=1, num_augmentations=1).fit(data)
    >>> clf.predict().shape
    (128,)
    """

    _run: FinishedRun | None = None
    _folder: PrivateFolder | None = None
    _trained: TrainedModel | None = None
    _asked: "_Asked | None" = None

    def fit(
        self,
        data: Any,
        y: Any = None,
        *,
        split: int | None = None,
        verbose: bool = False,
        on_epoch: Callable[[Any], object] | None = None,
    ) -> Self:
        """Trains on `data.train_mask`, selects on `data.val_mask`; neither mask is required.

        Args:
            data: a PyG `Data` with `x`, `edge_index`, `y`; labels of -1 are unknown. Also what `ansgt.from_edges` and its
                like return, networkx, a dict, or the path of a graph or a folder of tables. Without `train_mask` every
                labelled node outside `val_mask` and `test_mask` is trained on. `LabelledNodes` is what searches of
                scikit-learn hand over.
            y: belongs to other estimators of scikit-learn; a graph brings its labels.
            split: which split, where the masks hold several [n, k].
            verbose: shows on stderr how far training is: a bar in a terminal, a line in a notebook, else a line every ten
                seconds.
            on_epoch: called after every epoch with a `Progress`.

        Fits in several threads take turns, an epoch at a time, under one lock of the process; each gives what it gives
        alone. Random numbers come from torch's global generators, which every turn seeds and gives back as they were: no
        other thread should draw from them meanwhile. Neither gradient mode nor default dtype of the caller matters.
        """
        started = time.perf_counter()
        from ansgt.runs.run import Environment, run  # learning is imported by whoever learns
        from ansgt.runs.watching import watched

        dataset, config = self._prepared(data, y, split)
        folder = PrivateFolder()
        cache = DiskCache(self.cache_dir or default_cache_dir())
        environment = Environment(cache, started=started)
        if on_epoch is not None:
            environment = replace(environment, on_epoch=on_epoch)
        label = f"graph {config.model_name}"
        with watched(environment, label, dataset.graph.num_nodes, verbose) as environment:
            run(config, dataset, folder.path, environment=environment)
        finished = FinishedRun.of(config, dataset, folder.path, cache)
        finished.folder.write_graph(dataset.graph, dataset.split("given"))
        return self._take(finished, folder)

    def tune(
        self,
        data: Any,
        y: Any = None,
        *,
        minutes: float | None = None,
        trials: int | None = None,
        metric: str = "accuracy",
        split: int | None = None,
        study: Path | str | None = None,
        space: "Space | None" = None,
    ) -> Self:
        """Searches settings on the validation nodes, and takes those that it found over; `fit` then trains with them.

        What was given to the constructor stays as it is. `tuning_` says what was found, and whether it is better than the
        settings that ship. Needs Optuna (extra ``ansgt[tune]``).

        Args:
            data, y, split: as for `fit`.
            minutes, trials: the budget; one of them at least.
            metric: of the validation nodes.
            study: a folder, in which the search is kept: the same call goes on, and processes may share it.
            space: setting -> a `Span` or values to choose from; None: the model's own.
        """
        from ansgt.runs.prepare import section_kinds
        from ansgt.runs.tuning import Budget, Found, Search, place_of, without

        dataset, config = self._prepared(data, y, split)
        private = PrivateFolder()
        cache = DiskCache(self.cache_dir or default_cache_dir())
        place = private.path if study is None else Path(study)
        search = Search(dataset, config, place, metric, space, cache)
        search = without(search, list(self.given_settings()))
        search.run(Budget(trials, None if minutes is None else 60 * minutes))
        found = Found.of(search, search.open())
        if study is not None:
            found.write()
        self.tuning_ = found.as_dict()
        kinds = section_kinds(config.model_class or config.model_name)
        names = setting_names({section: hints(kind) for section, kind in kinds.items()})
        return self.set_params(
            **{names[place_of(name, config)]: value for name, value in found.values.items()}
        )

    def _prepared(self, data: Any, y: Any, split: int | None) -> tuple[Dataset, RunConfig]:
        """The graph with the split that its masks say, and all settings."""
        from ansgt.datasets import LabelledNodes, as_graph
        from ansgt.datasets.masks import given_split

        rows = data if isinstance(data, LabelledNodes) else None
        if y is not None and rows is None:
            raise InputError(ROWS)
        with turn():
            graph, data = as_graph(data) if rows is None else (rows.graph, None)
            _check_learnable(graph)
            held = self.val_fraction, self.seed
            given = given_split(data, graph, split, *held) if rows is None else rows.split(*held)
            given.check(graph)
            config = self._config(graph)
        return Dataset("graph", GRAPH, graph, "given", {"given": [given]}), config

    def predict(self, data: Any = None, nodes: Any = None) -> np.ndarray:
        """Class of every node (or of `nodes`) [n], one of `classes_`; of another graph's where `data` is given."""
        probabilities, classes = self.predict_proba(data, nodes), self.classes_
        found: np.ndarray = classes[probabilities.argmax(axis=1)]
        return found

    @overload
    def predict_proba(
        self, data: Any = None, nodes: Any = None, *, return_std: Literal[False] = False
    ) -> np.ndarray: ...
    @overload
    def predict_proba(
        self, data: Any = None, nodes: Any = None, *, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...
    def predict_proba(
        self, data: Any = None, nodes: Any = None, *, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Class probabilities [n, C], float32.

        Args:
            data: the training graph grown by nodes and edges, or another one with the same features. None: the training
                graph, whose probabilities are those that training ended with, as they stand in the record.
            nodes: a mask, names, or indices where nodes have no names; None: all.
            return_std: also how far the S sequences of a node (and several models) disagree: the standard deviation of the
                probabilities they give [n, C], before any temperature.
        """
        self._fitted()
        if data is not None:
            from ansgt.datasets import LabelledNodes

            if isinstance(data, LabelledNodes):
                data, nodes = None, data
        if data is None and not return_std:
            # without a turn, which a forked child may not have; another thread may fit anew
            stored = self._probabilities
            found: np.ndarray = stored[self.graph_.find(nodes).numpy()]
            return found
        if data is None:
            with turn():
                chosen = self.graph_.find(nodes)
                return self._probabilities[chosen.numpy()], self.trained_.spread(chosen).numpy()
        with turn():
            trained, chosen = self._moved(data, nodes)
            probabilities = self._fitted().predict_proba(trained, chosen).numpy()
            return (probabilities, trained.spread(chosen).numpy()) if return_std else probabilities

    def score(self, mask: Any = None, y: Any = None, *, metric: str = "accuracy") -> float:
        """One metric of some nodes.

        Args:
            mask: a mask, names or indices, or a part by its name ("val"); None: the test part.
            y: belongs to other estimators of scikit-learn; the graph has its labels.
            metric: accuracy, balanced_accuracy, macro_f1, roc_auc (several classes: one against the rest), log_loss, brier,
                calibration_error, or official: what the data set's benchmark asks for.
        """
        from ansgt.metrics import metric as known_metric

        chosen = known_metric(metric, self._fitted().config.dataset)
        return chosen(*self._scored(mask))

    def scores(self, mask: Any = None) -> "Scores":
        """Every metric of some nodes, beside what a constant guess scores there; prints as a table.

        Args:
            mask: as for `score`.
        """
        from ansgt.metrics import Scores

        return Scores.of(*self._scored(mask))

    def _scored(self, mask: Any) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities and labels of the nodes that shall be scored."""
        graph = self._fitted().graph
        nodes = self.split_.test if mask is None else self._part(mask)
        if len(nodes) == 0:
            raise InputError("There is nothing to score: the mask is empty.")
        if bool((graph.y[nodes] < 0).any()):
            raise InputError("The mask holds nodes without a label.")
        return self._probabilities[nodes.numpy()], graph.y[nodes].numpy()

    def _part(self, mask: Any) -> torch.Tensor:
        """The nodes of a part of the split, unless a node has that name; else those that are named."""
        try:
            return self.graph_.find(mask)
        except InputError:
            if isinstance(mask, str) and mask in self.split_.parts:
                return torch.from_numpy(self.split_.parts[mask])
            raise

    @overload
    def explain(
        self, node: list[Any] | np.ndarray | torch.Tensor, top: int = 15, *, data: Any = None
    ) -> "Explanations": ...
    @overload
    def explain(self, node: Any, top: int = 15, *, data: Any = None) -> "Explanation": ...
    def explain(self, node: Any, top: int = 15, *, data: Any = None) -> "Explanation | Explanations":
        """Which nodes `node` attended to, how much, and which heuristic brought each of them.

        A baseline has no sequences: PyG's `Explainer` then says how much other nodes' features matter.

        Args:
            node: a name, or an index where nodes have no names; or several in a list or array, or a mask.
            top: how many attended nodes to list of each.
            data: another graph, as for `predict`; the explanation says which of the node's neighbours were trained on.
        """
        self._fitted()
        single = isinstance(node, str | tuple) or not hasattr(node, "__len__")
        with turn():
            if data is None:
                trained = self.trained_
                chosen = torch.tensor([trained.graph.place(node)]) if single else trained.graph.find(node)
            else:
                trained, chosen = self._moved(data, [node] if single else node)
            found = trained.explain_nodes(chosen.tolist(), top)
            return found[0] if single else found

    def _moved(self, data: Any, nodes: Any) -> tuple[TrainedModel, torch.Tensor]:
        """The model on another graph, and the places of `nodes` in it; the graph asked about last is still there."""
        from ansgt.datasets.sources import as_graph, content_of
        from ansgt.planner import FEW

        run, asked = self._fitted(), self._asked or _Asked()
        content: tuple[Any, ...] | None
        growth = None if asked.older is None or nodes is None else asked.older.known.growth(data)
        if growth is not None:
            graph, content = growth.graph, growth.content
            known = asked.last is not None and asked.last.content == content
        else:
            content = content_of(data)
            known = asked.last is not None and content is not None and asked.last.content == content
            graph = (
                asked.last.trained.graph if asked.last is not None and known else as_graph(data, run.graph)[0]
            )
        chosen = graph.find(nodes)
        few = nodes is not None and FEW * len(chosen) <= graph.num_nodes
        if asked.last is None or not known or asked.last.for_few > few:
            asked.last = None  # two large graphs need not be there at once
            trained = self._grown(asked, growth, data, graph, len(chosen)) if few else None
            if trained is None:
                trained = run.moved(graph, asked=len(chosen) if few else None)
            last = _Moved(content, few, trained)
            asked.last = last if content is not None else None
            return trained, chosen
        return asked.last.trained, chosen

    def _grown(
        self, asked: "_Asked", growth: "Growth | None", data: Any, graph: Graph, number: int
    ) -> TrainedModel | None:
        """The model on a large graph, from what is known of the one it grew from, whose part of the work is done once.

        Args:
            asked: keeps that.
            growth: the graph as it grew, where the older one is known.
            data, graph: what is asked about.
            number: of nodes.
        """
        from ansgt.coarsening.grown import GROWTH
        from ansgt.datasets.growth import Known
        from ansgt.heuristics.base import SMALL
        from ansgt.links import Origin

        run = self._fitted()
        if not run.grows or graph.num_nodes <= SMALL:
            return None
        if growth is None or asked.older is None or len(growth.x) > GROWTH * graph.num_nodes:
            asked.older = None
            ids = Origin.of(graph, run.graph).ids
            first = int((ids >= 0).sum())
            if first < (1 - GROWTH) * len(ids) or (ids[:first] != np.arange(first)).any():
                if run.config.settings["num_supernodes"]:  # which are found anew for every such graph
                    return None
                first = len(ids)
            known = Known.of(data, graph, first)
            growth = None if known is None else known.growth(data)
            if known is None or growth is None:
                return None
            asked.older = _Older(known, run.moved(known.graph, asked=number))
        return run.grown(asked.older.trained, growth)

    def faithfulness(self, nodes: Any = None, **options: int) -> "Faithfulness":
        """Whether explanations are true of the model: how far the predicted class falls without the nodes they name.

        Args:
            nodes: a mask, names or indices; None: the test part, or all nodes without one.
            options: `dropped`, `draws`, `seed` of `ansgt.prediction.faithfulness`.
        """
        from ansgt.prediction.faithfulness import faithfulness

        graph, test = self._fitted().graph, self.split_.test
        chosen = test if nodes is None and len(test) else graph.find(nodes)
        return faithfulness(self.trained_, chosen.tolist(), **options)

    def save(self, path: Path | str) -> None:
        """Writes a run directory (safetensors, JSON, npz) that `load` and the `ansgt` verbs read; replaces an older one."""
        from ansgt.runs.saving import save_copy

        save_copy(self._fitted().folder, path)

    @classmethod
    def load(
        cls,
        path: Path | str,
        device: str = "auto",
        cache_dir: Path | str | None = None,
        **own: Any,
    ) -> "NodeClassifier":
        """What `save` wrote; also any finished run directory on a user's own graph.

        Args:
            own: `model`, `heuristics` or `coarsening_method`, where they were classes or objects of one's own: what is
                stored has their names alone.
        """
        run = FinishedRun.open(path, device=device, cache_dir=cache_dir, **own)
        config = run.config
        if config.trains_experts:
            own = {"effort": config.effort, "time_limit": config.time_limit, **config.given}
            clf = cls(
                config.model_class or config.model_name,
                seed=config.seed,
                device=device,
                cache_dir=cache_dir,
                **own,
            )
            return clf._take(run)
        sections = {part: asdict(getattr(config, part)) for part in ("optim", "train", "data")}
        sections["model"] = config.settings
        model = config.model_class or config.model_name
        names = setting_names(sections)
        settings = {
            names[f"{part}.{name}"]: value
            for part, values in sections.items()
            for name, value in values.items()
        }
        clf = cls(model, seed=config.seed, device=device, cache_dir=cache_dir, **settings)
        return clf._take(run)

    @property
    def experts_(self) -> list[dict[str, Any]]:
        """What was trained with `effort`, `time_limit` or `model="auto"`: name, weight, and scores of each by itself."""
        run = self._fitted()
        from ansgt.runs.record import models_of

        return models_of(run.folder.split(0).result()) if run.config.trains_experts else []

    @property
    def trained_(self) -> TrainedModel:
        """The trained model itself, built when it is first asked for."""
        with turn():
            if self._trained is None:
                self._trained = self._fitted().trained()
            return self._trained

    def _take(self, run: FinishedRun, folder: PrivateFolder | None = None) -> Self:
        """Takes over a finished run, the same way after `fit` as after `load`.

        Args:
            folder: where the run lies; None: in a folder of somebody else, which may change, move or go.
        """
        if folder is None:
            folder = PrivateFolder.copy_of(run.folder)
            run = replace(run, folder=RunFolder(folder.path))
        probabilities = run.folder.split(0).predictions()["probabilities"]
        history, split = run.folder.split(0).metrics(), run.split()
        run.folder.split(0).check_split(split)
        with turn():
            self._run, self._folder, self._trained, self._probabilities = run, folder, None, probabilities
            self._asked = _Asked()
            self.config_, self.graph_, self.split_, self.history_ = run.config, run.graph, split, history
            self.classes_ = run.graph.classes
        return self

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the files of the run travel, the trained model is built again from them."""
        state = {name: value for name, value in self.__dict__.items() if name not in HERE_ALONE}
        if self._folder is not None:
            state["_files"] = self._folder.packed()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("_files", None)
        self.__dict__.update(state)
        self._asked = _Asked()
        if files is not None and self._run is not None:
            self._folder = PrivateFolder.unpacked(files)
            self._run = replace(self._run, folder=RunFolder(self._folder.path))

    def _fitted(self) -> FinishedRun:
        if self._run is None:
            raise NotFittedInputError(
                "This NodeClassifier is not fitted yet: call fit(data) or load(path) first."
            )
        return self._run


def _check_learnable(graph: Graph) -> None:
    if graph.num_nodes < 3:
        raise InputError(f"The graph has {graph.num_nodes} nodes; training and validation need at least 3.")
    if not bool((graph.y >= 0).any()):
        raise InputError(
            "Field 'y' holds no label: no node's class is known, and classification learns from those."
        )
    if graph.num_classes < 2:
        raise InputError(f"Field 'y' has {graph.num_classes} class(es); classification needs at least 2.")
