"""A finished run, brought back: its trained models with the best weights, its scores, its predictions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.config import RunConfig
from ansgt.datasets import Dataset, load
from ansgt.datasets.files import is_graph_path
from ansgt.device import is_main_memory, resolve_device
from ansgt.errors import BrokenRunError, InputError, unknown_name
from ansgt.graph import Graph, Split
from ansgt.prediction import TrainedModel, build_trained
from ansgt.runs.folder import RunFolder, SplitFolder, open_run
from ansgt.storage import DiskCache, brief, content_hash, default_cache_dir

if TYPE_CHECKING:  # a stored prediction is read without what builds a model
    from ansgt.coarsening import CoarseGraph
    from ansgt.datasets.growth import Growth
    from ansgt.links import Origin
    from ansgt.settings import DataSettings


@dataclass(frozen=True)
class FinishedRun:
    """A run directory with its settings and its data, which are those that it was trained on.

    Args:
        folder: the run directory.
        config: its settings, on the device that was asked for.
        dataset: graph and splits.
        cache: for what is computed once per graph.
    """

    folder: RunFolder
    config: RunConfig
    dataset: Dataset
    cache: DiskCache
    kept: "dict[tuple[int, DataSettings], CoarseGraph]" = field(
        default_factory=dict, repr=False, compare=False
    )
    """Super-nodes of the training graph by the seed they were found with and what models see of features."""

    __repr__ = brief_repr

    @classmethod
    def open(
        cls,
        run_dir: Path | str,
        *,
        root: Path | str = "data",
        device: str = "auto",
        cache_dir: Path | str | None = None,
        **own: Any,
    ) -> Self:
        """Opens a run and its data set, and checks that the data are the same.

        Args:
            run_dir: the run directory.
            root: folder with the raw data sets.
            device: auto, cpu, cuda or cuda:<number>.
            cache_dir: where processed files go.
            own: `model`, `heuristics` or `coarsening_method`, where they were classes or objects of one's own: what is
                stored has their names alone.
        """
        folder = open_run(run_dir)
        config = _with_own(replace(folder.config(), device=resolve_device(device)), own)
        info = folder.info()
        is_file = is_graph_path(info["variant"])
        # a classifier keeps its graph inside the run directory, so a relative path is relative to that
        source = str(folder.path / info["variant"]) if is_file else config.dataset
        dataset = load(source, root, cache_dir=cache_dir)
        if dataset.graph.content_hash != info["data_hash"]:
            raise InputError(f"The data of '{config.dataset}' are not those that {run_dir} was trained on.")
        if info.get("names_hash") not in (None, content_hash(dataset.graph.labelling.as_dict())):
            raise InputError(
                f"The names of nodes or classes of '{config.dataset}' are not those that {run_dir} was trained on."
            )
        return cls(folder, config, dataset, DiskCache(cache_dir or default_cache_dir()))

    @classmethod
    def of(cls, config: RunConfig, dataset: Dataset, run_dir: Path | str, cache: DiskCache) -> Self:
        """A run that was finished just now: settings and data are at hand."""
        return cls(RunFolder(Path(run_dir)), config, dataset, cache)

    @property
    def graph(self) -> Graph:
        return self.dataset.graph

    def split(self, index: int = 0) -> Split:
        """A split of the data set; one that came from a file of its own is read from the record."""
        if self.config.split not in self.dataset.split_names:
            nodes = {part: torch.from_numpy(ids) for part, ids in self.folder.split(index).parts().items()}
            return Split(**nodes, name=self.config.split, index=index).check(self.graph)
        return self.dataset.split(self.config.split, index, self.config.seed)

    def trained(self, index: int = 0) -> TrainedModel:
        """What one split's training left, with the weights of its best validation epoch."""
        from ansgt.links import Origin

        folder = finished(self.folder, index)
        folder.check_split(self.split(index))
        trained = self._build(index, self.graph)
        self._load(trained, folder)
        trained.temperature = temperature_of(folder)
        trained.trained_on = self._trained_on(Origin.same(self.graph), index)
        return trained

    def moved(self, graph: Graph, index: int = 0, asked: int | None = None) -> TrainedModel:
        """The trained weights on another graph with the same features: one that grew, or a new one.

        Its heuristics, coarse graph and sequences are computed anew; labels are not needed.

        Args:
            graph: the other one.
            index: of the split.
            asked: how many of its nodes are to be predicted; None: perhaps all. Few of a large graph need no more than
                their own rows and sequences.
        """
        from ansgt.links import Origin

        own = self.graph
        if graph.num_features != own.num_features:
            raise InputError(
                f"Field 'x' has {graph.num_features} features, but the model was trained with {own.num_features}."
            )
        folder = finished(self.folder, index)
        weights = folder.weights()
        graph = graph.with_classes_of(own)
        origin = Origin.of(graph, own)
        trained = self._build(index, graph, origin, asked)
        try:
            trained.load_weights(weights)
        except RuntimeError:
            name = self.config.model_name
            raise InputError(
                f"Model '{name}' learns weights per node and cannot move to another graph."
            ) from None
        trained.temperature = temperature_of(folder)
        trained.trained_on = self._trained_on(origin, index)
        return trained

    @property
    def grows(self) -> bool:
        """Whether its model may move to one more node without going over the graph; see `TrainedModel.grown`."""
        own = not self.config.trains_experts and self.config.model_class is None
        return own and self.config.model_name == "ansgt" and is_main_memory(torch.device(self.config.device))

    def grown(self, trained: TrainedModel, growth: "Growth") -> TrainedModel | None:
        """The trained model on a graph that grew from the one it is on; None where it has to be `moved`."""
        from ansgt.coarsening.grown import GROWTH

        new = len(growth.x)
        if new > GROWTH * growth.graph.num_nodes:
            return None
        found = trained.grown(growth)
        if found is not None:
            found.temperature = trained.temperature
            known = trained.trained_on
            found.trained_on = None if known is None else np.append(known, np.zeros(new, dtype=bool))
        return found

    def _trained_on(self, origin: "Origin", index: int) -> np.ndarray:
        """Which nodes of a graph were trained on [n], bool, by what is known of where they come from."""
        known = np.zeros(origin.num_nodes + 1, dtype=bool)  # the last one: a node that was not there
        known[self.split(index).train.numpy()] = True
        found: np.ndarray = known[origin.ids]
        return found

    def decided(self, index: int) -> RunConfig:
        """The settings as a split trained with them: what they leave to the data is in its result."""
        from ansgt.runs.choices import Choices

        return Choices.stored(self.config, self.folder.split(index).result()).applied(self.config)

    def _load(self, trained: TrainedModel, folder: SplitFolder) -> None:
        try:
            trained.load_weights(folder.weights())
        except (RuntimeError, KeyError) as error:
            raise InputError(
                f"The weights in {folder.path} do not fit its settings: {brief(error)}."
            ) from None

    def predict_proba(self, trained: TrainedModel, nodes: Tensor, index: int = 0) -> Tensor:
        """Class probabilities as the record's were computed: from the generators that end a split."""
        from ansgt.runs import seeds

        with seeds.owned_randomness(self.config.device):
            seeds.seed_prediction(self.config.seed, index)
            probabilities = trained.predict_proba(nodes)
        if not bool(probabilities.isfinite().all()):
            raise BrokenRunError(
                f"The predictions of {self.config.model_name} hold NaN or infinity: features or weights are too large."
            )
        return probabilities

    def _build(
        self, index: int, graph: Graph, origin: "Origin | None" = None, asked: int | None = None
    ) -> TrainedModel:
        """One model, several that differ by their seed, or experts; fresh weights."""
        if self.config.trains_experts:
            from ansgt.prediction.experts import WeightedExperts
            from ansgt.runs.experts import stored_experts, stored_mixture

            result = self.folder.split(index).result()
            experts = [
                self._build_one(config, index, graph, origin, asked)
                for config in stored_experts(self.config, result)
            ]
            mixture = stored_mixture(result)
            for expert, temperature in zip(experts, mixture.temperatures, strict=True):
                expert.temperature = temperature
            return WeightedExperts(experts, mixture.weights.tolist())
        from ansgt.runs import seeds

        config = self.decided(index)
        numbers = range(config.train.num_models)
        own = [replace(config, seed=seeds.model_seed(config.seed, number)) for number in numbers]
        models = [self._build_one(one, index, graph, origin, asked) for one in own]
        if len(models) == 1:
            return models[0]
        from ansgt.prediction.ensemble import Ensemble

        return Ensemble(models)

    def _build_one(
        self, config: RunConfig, index: int, graph: Graph, origin: "Origin | None", asked: int | None
    ) -> TrainedModel:
        """Args: origin: of the nodes of a graph that was not trained on. asked: how many will be predicted."""
        from ansgt.runs import seeds

        if origin is not None:
            from ansgt.links import moved_columns

            graph = replace(graph, links=moved_columns(graph, origin, config.data))
            config = self._with_super_nodes(config, index, graph, origin)
        with seeds.owned_randomness(config.device):
            seeds.seed_building(config.seed, index)
            draws = seeds.draw_seed(config.seed, index)
            return build_trained(config, graph, draws, self.cache, asked)

    def _with_super_nodes(self, config: RunConfig, index: int, graph: Graph, origin: "Origin") -> RunConfig:
        """Settings that give a graph which grew the super-nodes it had in training, and its new nodes one of them."""
        from ansgt.coarsening import Coarsener, resolve
        from ansgt.coarsening.grown import GROWTH, GrownCoarsener
        from ansgt.features import prepare_features
        from ansgt.runs import seeds

        settings = config.settings
        new = int((origin.ids < 0).sum())
        if not settings.get("num_supernodes") or new > GROWTH * graph.num_nodes:
            return config
        key = (seeds.draw_seed(config.seed, index), config.data)
        if key not in self.kept:
            options = {"rate": settings["coarsening_rate"], "seed": key[0], "cache": self.cache}
            coarsener = resolve(settings["coarsening_method"], **options)
            if not isinstance(coarsener, Coarsener):  # a user's own: it may read more than the structure
                return config
            seen = prepare_features(self.graph.x, config.data, torch.device(config.device))
            self.kept[key] = coarsener.fit(self.graph.with_features(seen))
        grown = GrownCoarsener(self.kept[key], origin.ids)
        return replace(config, settings={**settings, "coarsening_method": grown})


def _text(folder: RunFolder, name: str) -> str:
    """A text of `run.json`."""
    info: Any = folder.info()
    value = info.get(name) if isinstance(info, Mapping) else None
    if not isinstance(value, str):
        raise InputError(f"The file run.json of {folder.path} has no text '{name}' (damaged).")
    return value


def _stored_probabilities(folder: SplitFolder, like: np.ndarray) -> np.ndarray:
    """What training ended with [n, C]."""
    stored = folder.predictions().get("probabilities")
    if stored is None or stored.dtype.kind != "f" or stored.shape != like.shape:
        raise InputError(
            f"The file predictions.npz of {folder.path} does not hold probabilities {list(like.shape)} (damaged)."
        )
    return stored


def _with_own(config: RunConfig, own: Mapping[str, Any]) -> RunConfig:
    """The stored settings, with the user's own classes and objects in place of their names."""
    settings = {name: value for name, value in own.items() if name != "model"}
    known = config.given if config.trains_experts else config.settings
    for name in settings:
        if name not in known:
            raise unknown_name("setting of the stored run", name, known)
    known = {**known, **settings}
    config = replace(config, model_class=own.get("model"))
    return replace(config, given=known) if config.trains_experts else replace(config, settings=known)


def temperature_of(folder: SplitFolder) -> float:
    """What calibration divides logits by; 1 where a split was not calibrated."""
    found = folder.result().get("temperature", 1.0)
    if not isinstance(found, float | int) or not 0 < found < float("inf"):
        raise InputError(f"The temperature in {folder.path} is no number above 0 (damaged).")
    return float(found)


def finished(folder: RunFolder, index: int) -> SplitFolder:
    """The files of a finished split; raises `InputError` where it is not finished."""
    split = folder.split(index)
    if not split.is_finished:
        raise InputError(f"Split {index} of {folder.path} is not finished.")
    return split


def evaluate_run(run: FinishedRun) -> dict[str, Any]:
    """The JSON object of `ansgt evaluate`: every split predicted anew, scored, and compared with the record."""
    from ansgt.metrics import metric
    from ansgt.runs.record import scores_by_part, summarize, summarized_scores

    config, y = run.config, run.graph.y
    each, guesses, matches = [], [], True
    for result in run.folder.results():
        index = result.get("index") if isinstance(result, Mapping) else None
        if not isinstance(index, int) or not 0 <= index < config.num_splits:
            raise InputError(
                f"A result.json of {run.folder.path} does not say which split it is of (damaged)."
            )
        split = run.split(index)
        probabilities = run.predict_proba(run.trained(index), torch.arange(run.graph.num_nodes), index)
        each.append(scores_by_part(probabilities.numpy(), y.numpy(), split.parts))
        guesses.append(split.majority_share(y))
        stored = _stored_probabilities(run.folder.split(index), probabilities.numpy())
        matches &= bool(np.allclose(stored, probabilities.numpy(), atol=1e-4))
    if not each:
        raise InputError(f"No split of {run.folder.path} is finished; train it with --resume first.")
    return {
        "dataset": config.dataset,
        "model": config.model_name,
        "split": config.split,
        "num_splits": len(each),
        "test_accuracy": summarize([scores["test"]["accuracy"] for scores in each]),
        "val_accuracy": summarize([scores["val"]["accuracy"] for scores in each]),
        "majority_share": float(np.mean(guesses)),
        "scores": summarized_scores(each),
        "official_metric": metric("official", config.dataset).name,
        "matches_record": matches,
        "run_dir": str(run.folder.path),
    }
