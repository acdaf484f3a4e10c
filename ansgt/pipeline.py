"""What happens to a node before the transformer sees it, stage by stage (sections 3.3, 5.1 and 5.2 of the paper).

::

    graph -> heuristics   rows Q_k(i, .): whom 1-hop, 2-hop, PPR and KNN propose to node i
          -> mixture      psi = sum_k p_k Q_k, with the bandit's probabilities p          (Equ. 4)
          -> sampler      N nodes for each of S sequences, drawn from psi
          -> super-nodes  the node's own one and its neighbours in the coarse graph       (section 3.3)
          -> proximity    Phi_m(i, j) = (D^-1/2 A D^-1/2)^m[i, j] for all pairs of tokens
          -> sequences    [centre | N nodes | super-nodes | global nodes], ready in batches

The transformer reads the sequences; its attention becomes the reward that moves p. That loop is closed in
`training/adaptive.py`, and on one page in `examples/algorithm_1.py`.
"""

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ansgt.ahead import ahead
from ansgt.coarsening import fit_coarsener
from ansgt.device import working_dtype
from ansgt.graph import Graph
from ansgt.heuristics import fit_heuristics
from ansgt.planner import Plan, plan_sequences
from ansgt.sampling import NodeSampler, SampledNodes, build_mixture
from ansgt.sequences import BuilderOptions, Proximity, SequenceBuilder, SequenceLayout, SequenceSettings
from ansgt.stages import stage
from ansgt.storage import DiskCache

INFERENCE_ROUND = 1 << 30
"""Sequences for prediction are drawn in a round that training never reaches: they are fresh (section 5.3)."""


@dataclass(frozen=True)
class Drawn:
    """The sequences of some centres: what was sampled (for the reward), and the tables that give batches of them."""

    sampled: SampledNodes
    sequences: SequenceBuilder


class SequencePipeline:
    """From a graph to the sequences of any of its nodes.

    Args:
        graph: the graph, with the features that the heuristics compare.
        settings: of every stage.
        seed: of all draws: a draw depends on (seed, round, centre, sequence) and p alone.
        device: where the tables lie.
        cache: for heuristics and the coarse graph's spectrum.
        features: what the transformer sees of a node, where that is more than what the heuristics see.
        plan: what is held in memory; the numbers do not depend on it.
    """

    def __init__(
        self,
        graph: Graph,
        settings: SequenceSettings,
        seed: int = 0,
        device: torch.device | str = "cpu",
        cache: DiskCache | None = None,
        features: Tensor | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.settings, self.seed, self.device = settings, seed, torch.device(device)
        seen = graph if features is None else graph.with_features(features)  # by the transformer
        self.plan = plan or plan_sequences(seen, settings, self.device)
        cache = DiskCache(None) if cache is None else cache
        self.heuristics = fit_heuristics(settings, graph, cache, self.plan.rows)
        streams = self.plan.mixture == "streamed"
        self.mixture = build_mixture(self.heuristics, graph.num_nodes, self.device, streams)
        self.sampler = self.sampler_of(settings.num_augmentations)
        self.inference_sampler = self.sampler_of(settings.num_inference or settings.num_augmentations)
        with stage("coarse graph"):
            self.coarse = fit_coarsener(settings, seen, seed, cache)
        with stage("proximity"):
            self.proximity = self._proximity(graph)
        self.sequences = self._builder(seen)

    def draw(self, nodes: Tensor, p: Tensor, round: int, into: SequenceBuilder | None = None) -> Drawn:
        """Draws S sequences for each of `nodes` with the heuristics' probabilities `p`.

        Args:
            round: which draw; `INFERENCE_ROUND` gives `num_inference` sequences.
            into: tables to write to in place (a captured CUDA graph goes on reading them); by default new ones.
        """
        sampler = self.inference_sampler if round == INFERENCE_ROUND else self.sampler
        sampled = sampler.draw(nodes, p, round)
        return Drawn(sampled, (self.tables() if into is None else into).resample(sampled, round))

    def stream(self, blocks: Iterable[Tensor], p: Tensor, round: int) -> Iterator[Drawn]:
        """`draw` of one block of nodes after the other, by a thread that works ahead of whoever reads them."""
        return ahead(self.draw(nodes, p, round) for nodes in blocks)

    def tables(self) -> SequenceBuilder:
        """Tables of one's own for drawn sequences; features and proximities are shared."""
        return copy.copy(self.sequences)

    def _proximity(self, graph: Graph) -> Proximity:
        chosen, few = self.settings, self.plan.rows == "asked"
        limit = None if self.plan.dense or few else 0
        options: Any = {"centre_only": chosen.centre_only, "max_table_bytes": limit, "measured": not few}
        dtype = working_dtype(self.device, chosen.amp)
        return Proximity(chosen.num_proximity, dtype=dtype, **options).fit(graph, self.coarse, self.device)

    def sampler_of(self, num_sequences: int) -> NodeSampler:
        options: Any = {"num_sampled": self.settings.num_sampled, "mode": self.settings.mode}
        return NodeSampler(self.mixture, num_sequences=num_sequences, seed=self.seed, **options)

    def _builder(self, graph: Graph) -> SequenceBuilder:
        chosen = self.settings
        layout = SequenceLayout(chosen.num_sampled, chosen.num_supernodes, chosen.num_global)
        options = BuilderOptions(self.seed, chosen.multiplicity_bias, apart=self.plan.rows == "asked")
        return SequenceBuilder(graph, layout, self.proximity, self.coarse, options)
