"""`SequenceSource`: from a graph to the sequences of any nodes, on the device.

heuristics -> mixture -> sampler -> (coarse graph, proximity) -> builder -> batches
"""

import copy
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ansgt.coarsening import CoarseGraph
from ansgt.coarsening import resolve as resolve_coarsener
from ansgt.graph import Graph
from ansgt.heuristics import resolve as resolve_heuristic
from ansgt.sampling import Mixture, NodeSampler, SampledNodes
from ansgt.sequences import SequenceBuilder, SequenceLayout
from ansgt.sequences.proximity import Proximity
from ansgt.storage import DiskCache
from ansgt.training.settings import AdaptiveSettings

EXACT_ROWS = 6_000
"""Up to this many nodes a heuristic proposes all it has; a larger graph gets `MAX_CANDIDATES`."""
MAX_CANDIDATES = 256
INFERENCE_ROUND = 1 << 30
"""Sequences for prediction are drawn in a round that training never reaches: they are fresh (section 5.3)."""


class SequenceSource:
    """Everything that precedes the transformer.

    Args:
        graph: the graph, features as the model shall see them.
        settings: of ANS-GT.
        seed: of all draws.
        device: where the tables live.
        cache: for heuristics and the coarse graph's subspace.
        features: what the transformer sees of a node, where that is more than what the heuristics do.
    """

    def __init__(
        self,
        graph: Graph,
        settings: AdaptiveSettings,
        seed: int,
        device: torch.device,
        cache: DiskCache,
        features: Tensor | None = None,
    ) -> None:
        self.graph = graph
        self.settings = settings
        self.heuristics = [
            resolve_heuristic(name, **_heuristic_settings(name, settings, graph), cache=cache).fit(graph)
            for name in settings.active_heuristics
        ]
        self.mixture = Mixture.from_heuristics(self.heuristics, graph.num_nodes).to(device)
        self.sampler = self._sampler(settings.num_augmentations, seed)
        self.inference_sampler = self._sampler(settings.num_inference or settings.num_augmentations, seed)
        seen = graph if features is None else graph.with_features(features)
        self.coarse = _coarse_graph(seen, settings, seed, cache)
        self.layout = SequenceLayout(settings.num_sampled, settings.num_supernodes, settings.num_global)
        dtype = torch.bfloat16 if use_amp(settings, device) else torch.float32
        proximity = Proximity(settings.num_proximity, dtype=dtype)
        coarse = self.coarse
        proximity.fit(
            graph,
            None if coarse is None else coarse.adj,
            None if coarse is None else coarse.assignment,
            device=device,
        )
        encode = "all" if device.type == "cuda" else "auto"
        self._builder = SequenceBuilder(
            seen,
            self.layout,
            proximity,
            _with_features(coarse, settings),
            seed=seed,
            encode=encode,
            feature_dtype=dtype,
        )

    def _sampler(self, num_sequences: int, seed: int) -> NodeSampler:
        return NodeSampler(
            self.mixture,
            num_sampled=self.settings.num_sampled,
            num_sequences=num_sequences,
            mode=self.settings.mode,
            seed=seed,
        )

    @property
    def num_arms(self) -> int:
        return len(self.heuristics)

    def builder(self) -> SequenceBuilder:
        """A builder with tables of its own; features and proximities are shared."""
        return copy.copy(self._builder)

    def fill(self, builder: SequenceBuilder, nodes: Tensor, p: Tensor, round: int) -> SampledNodes:
        """Draws sequences for `nodes` and puts them into the builder's tables; S of them, or `num_inference`."""
        sampler = self.inference_sampler if round == INFERENCE_ROUND else self.sampler
        sampled = sampler.draw(nodes, p, round)
        builder.resample(sampled, round)
        if not self.settings.multiplicity_bias:
            builder.log_count.zero_()
        return sampled


def _with_features(coarse: CoarseGraph | None, settings: AdaptiveSettings) -> CoarseGraph | None:
    """The coarse graph with the super-node features that the settings ask for."""
    if coarse is None or settings.super_features == "paper":
        return coarse
    return replace(coarse, x=coarse.x_mean)


def _coarse_graph(
    graph: Graph, settings: AdaptiveSettings, seed: int, cache: DiskCache
) -> CoarseGraph | None:
    if settings.num_supernodes == 0:
        return None
    return resolve_coarsener(
        settings.coarsening_method, rate=settings.coarsening_rate, seed=seed, cache=cache
    ).fit(graph)


def _heuristic_settings(name: str, settings: AdaptiveSettings, graph: Graph) -> dict[str, Any]:
    limit = settings.max_candidates
    if limit is None and graph.num_nodes > EXACT_ROWS:
        limit = MAX_CANDIDATES
    chosen: dict[str, Any] = {"max_candidates": limit}
    if name == "ppr":
        chosen["restart_prob"] = settings.restart_prob
    if name == "knn":
        k = settings.num_neighbors
        chosen["k"] = None if k is None else min(k, graph.num_nodes - 1)
    return chosen


def use_amp(settings: AdaptiveSettings, device: torch.device) -> bool:
    return device.type == "cuda" if settings.amp is None else settings.amp
