"""`SequenceSettings`: everything that the way from a graph to sequences reads."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from ansgt.coarsening import COARSENERS, CoarsenerLike
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, HeuristicLike
from ansgt.settings import Count, Few, Fraction, Memory, Size

PAPER_HEURISTICS = ("1-hop", "2-hop", "ppr", "knn")
MIXED = ("adaptive", "fixed")
"""Values of `sampling` that mix all heuristics."""


@dataclass(frozen=True, eq=False)
class Known:
    """A name from a registry, or an object in its place.

    Args:
        registry: the names, also those that are registered later; capitals do not matter.
        thing: what an object is, for an error.
        more: names beside those of the registry.
    """

    registry: Collection[str]
    thing: str
    more: tuple[str, ...] = ()

    def __contains__(self, value: Any) -> bool:
        return not isinstance(value, str) or value in self.more or value.lower() in self.registry

    def wanted(self, value: Any) -> str:
        """What an error asks for in place of `value`."""
        return f"one of {', '.join([*self.more, *self.registry])}, or {self.thing}"


HeuristicName = Annotated[str | HeuristicLike, Known(HEURISTICS, "an object with fit and rows")]
SamplingName = Annotated[str | HeuristicLike, Known(HEURISTICS, "an object with fit and rows", MIXED)]
CoarsenerName = Annotated[str | CoarsenerLike, Known(COARSENERS, "an object with fit")]


@dataclass(frozen=True)
class SequenceSettings:
    """Settings of heuristics, sampling, coarse graph and sequences; defaults are the paper's where it prints one."""

    num_sampled: Count = 20
    """N, sampled nodes in a sequence."""
    num_supernodes: Size = 3
    """n_s, super-nodes in a sequence; 0: no coarse graph."""
    num_global: Size = 2
    """n_g, learnable global nodes in a sequence."""
    num_augmentations: Count = 16
    """S, sequences per centre."""
    num_inference: Count | None = None
    """Sequences per node over which a prediction is averaged (section 5.3); None: S."""
    num_proximity: Few = 10
    """M, powers of the normalised adjacency in the proximity encoding."""
    sampling: SamplingName = "adaptive"
    """adaptive; fixed (the paper's HGT: the mixture never changes); or one heuristic."""
    heuristics: list[HeuristicName] = field(default_factory=lambda: list(PAPER_HEURISTICS))
    """What is mixed: names, or objects with fit and rows."""
    mode: Literal["without", "with", "distinct"] = "distinct"
    """How N nodes are drawn from psi: without or with replacement; distinct: with, and repeats merged into one token."""
    multiplicity_bias: bool = True
    """Mode distinct: log(count) is added to a merged token's attention logit."""
    restart_prob: Fraction = 0.15
    """c of PPR, the chance that a walk starts again at its centre."""
    num_neighbors: Count | None = 64
    """k of KNN; None is the literal all-pairs score."""
    max_candidates: Count | None = None
    """Largest number of candidates a heuristic may propose to a centre; None: all up to 6,000 nodes, else 256."""
    coarsening_method: CoarsenerName = "vn"
    """A name (vn, ve, jc, heavy-edge, louvain), or an object with fit."""
    coarsening_rate: Fraction = 0.01
    """c of section 3.3, super-nodes per node."""
    super_features: Literal["paper", "mean"] = "paper"
    """Features of super-nodes: paper (P^T X) or mean."""
    memory: Memory | None = None
    """Most memory that tables may take the process to (on CUDA: the device): bytes or a text like 4G; None: half of what is
    free. Decides what is held and what is made anew when it is needed, never a number."""
    amp: bool | None = None
    """Proximities, features and products in bfloat16; None: on CUDA only."""

    @property
    def active_heuristics(self) -> list[str | HeuristicLike]:
        """The heuristics that are mixed: all, or the one that `sampling` names."""
        mixed = isinstance(self.sampling, str) and self.sampling in MIXED
        return list(self.heuristics) if mixed else [self.sampling]

    @property
    def centre_only(self) -> bool:
        """Whether only the centre's row of the proximities is read: so it is in a transformer of one layer."""
        return False

    def check(self, graph: Graph) -> Self:
        """Raises `InputError` for what cannot work on this graph, naming the setting and its value."""
        if not self.active_heuristics:
            raise InputError("Setting model.heuristics is empty: at least one heuristic must propose nodes.")
        if self.num_sampled >= graph.num_nodes:
            raise InputError(
                f"Setting model.num_sampled is {self.num_sampled}, but the graph has {graph.num_nodes} nodes "
                f"(at most {graph.num_nodes - 1} besides the centre)."
            )
        return self
