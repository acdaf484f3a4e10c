"""From the sequences of a graph to those of one that grew from it, for a few of its nodes."""

import copy

import numpy as np
from torch import Tensor

from ansgt.coarsening.grown import GrownCoarsener
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, Heuristic
from ansgt.pipeline import SequencePipeline
from ansgt.sampling import build_mixture
from ansgt.sequences.builder import Stacked


def grown_pipeline(older: SequencePipeline, graph: Graph, x: Tensor, seen: Tensor) -> SequencePipeline | None:
    """The pipeline of a graph that grew; None where all stages have to be built anew.

    Nothing is computed that does not depend on the new nodes; the sequences are those of a pipeline of its own.

    Args:
        older: of `graph.grown_from`, for a few nodes.
        graph: its own features are not read.
        x, seen: what heuristics and transformer see of its new nodes [k, p].
    """
    own = tuple(HEURISTICS.values())  # a user's may read more of the graph than is there
    heuristics = [one for one in older.heuristics if isinstance(one, Heuristic) and type(one) in own]
    if not isinstance(older.sequences.x, Stacked) or len(heuristics) < len(older.heuristics):
        return None
    coarse = None
    if older.coarse is not None:
        known = len(older.coarse.assignment)
        ids = np.where(np.arange(graph.num_nodes) < known, np.arange(graph.num_nodes), -1)
        coarse = GrownCoarsener(older.coarse, ids).joined(graph, seen)
    proximity = older.proximity.grown(graph, coarse)
    if proximity is None:
        return None
    found = copy.copy(older)
    found.coarse, found.proximity = coarse, proximity
    found.heuristics = [one.grown(graph, x) for one in heuristics]
    found.mixture = build_mixture(found.heuristics, graph.num_nodes, older.device, streamed=True)
    found.sampler = found.sampler_of(older.sampler.num_sequences)
    found.inference_sampler = found.sampler_of(older.inference_sampler.num_sequences)
    found.sequences = older.sequences.grown(graph, proximity, seen, coarse)
    return found
