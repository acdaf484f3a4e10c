"""Every switch of ANS-GT in one frozen dataclass; names as in docs/notation.md, defaults as in section 6.1 of the paper
where it prints one."""

from dataclasses import dataclass, field
from typing import Any, get_args

from ansgt.config import check_choice, check_positive
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS
from ansgt.models.attention import Kernel
from ansgt.sampling.bandit import RULES
from ansgt.sampling.reward import ESTIMATORS
from ansgt.sampling.sampler import MODES

PAPER_HEURISTICS = ("1-hop", "2-hop", "ppr", "knn")
SECTION_6_1: dict[str, dict[str, Any]] = {
    "optim": {
        "name": "adamw",
        "lr": 2e-4,
        "weight_decay": 0.01,
        "beta1": 0.99,
        "warmup_epochs": 100,
        "end_lr": 1e-9,
        "clip_norm": 5.0,
    },
    "train": {"epochs": 1000, "patience": None},
    "data": {"normalize_features": "none"},
}
"""AdamW (0.99, 0.999), eps 1e-8, peak 2e-4, 100 epochs of warm-up, linear decay to 1e-9, 1,000 epochs."""


@dataclass(frozen=True)
class AdaptiveSettings:
    """Settings of ANS-GT: the transformer, its sequences, the adaptive sampling, the coarse graph, the execution."""

    hidden_channels: int = 128
    """d."""
    num_layers: int = 5
    """L."""
    num_heads: int = 8
    dropout: float = 0.5
    attention_dropout: float = 0.1
    input_dropout: float = 0.5
    """Dropout of the node features."""
    ffn_multiplier: float = 2.0
    per_layer_bias: bool = False
    """A proximity bias for every layer instead of one for all."""
    own_features: bool = False
    """The head also reads the centre's encoded features as they are, beside what the layers made of them."""
    label_smoothing: float = 0.0
    batch_size: int = 32
    """Centres in a batch; each brings S sequences."""
    num_sampled: int = 20
    """N, sampled nodes in a sequence."""
    num_supernodes: int = 3
    """n_s, super-nodes in a sequence."""
    num_global: int = 2
    """n_g, learnable global nodes in a sequence."""
    num_augmentations: int = 16
    """S, sequences per centre."""
    num_inference: int | None = None
    """Sequences per node over which a prediction is averaged (section 5.3); None: S."""
    num_proximity: int = 10
    """M, powers of the normalised adjacency in the proximity encoding."""
    sampling: str = "adaptive"
    """adaptive; fixed (the paper's HGT: the mixture never changes); or the name of one heuristic."""
    heuristics: list[str] = field(default_factory=lambda: list(PAPER_HEURISTICS))
    initial: list[float] | None = None
    """Probabilities of the heuristics at the start; None: equal (Algorithm 1, line 1)."""
    mode: str = "distinct"
    """without, with or distinct: how N nodes are drawn from psi."""
    multiplicity_bias: bool = True
    """Mode distinct: log(count) is added to a merged token's attention logit."""
    reward: str = "unbiased"
    """unbiased or paper."""
    bandit_rule: str = "step"
    """step or paper."""
    bandit_step: float = 8.0
    p_min: float = 0.01
    update_period: int = 100
    """T, epochs between two updates of the bandit."""
    redraw_every: int | None = None
    """Epochs between two redraws of the training sequences with unchanged weights; None: only at updates."""
    average_epochs: float = 0.0
    """Time constant of the running mean of the weights that predicts in their place; 0: the weights themselves."""
    restart_prob: float = 0.15
    """c of PPR."""
    num_neighbors: int | None = 64
    """k of KNN; None is the literal all-pairs score."""
    max_candidates: int | None = None
    """Largest number of candidates a heuristic may propose to a centre; None: all up to 6,000 nodes, else 256."""
    coarsening_method: str = "vn"
    coarsening_rate: float = 0.01
    """c of section 3.3."""
    super_features: str = "paper"
    """Features of super-nodes: paper (P^T X) or mean."""
    amp: bool | None = None
    """bfloat16 autocast; None: on CUDA only."""
    captured: bool | None = None
    """Replay the step as a CUDA graph; None: on CUDA only."""
    compiled: bool = False
    """Run batch building, model and loss of a training step through torch.compile (20 to 30 s at the start)."""
    attention: str = "auto"
    """plain, sdpa, (CUDA alone) triton or fused, or auto (on CUDA fused, else triton; else plain): the same function."""

    def check(self, graph: Graph) -> "AdaptiveSettings":
        """Refuses what cannot work, naming the setting and its value."""
        check_choice("model.sampling", self.sampling, ("adaptive", "fixed", *HEURISTICS))
        check_choice("model.mode", self.mode, MODES)
        check_choice("model.reward", self.reward, ESTIMATORS)
        check_choice("model.bandit_rule", self.bandit_rule, RULES)
        check_choice("model.attention", self.attention, get_args(Kernel))
        check_choice("model.super_features", self.super_features, ("paper", "mean"))
        for name in (
            "hidden_channels",
            "num_layers",
            "num_heads",
            "batch_size",
            "num_sampled",
            "num_augmentations",
        ):
            check_positive(f"model.{name}", getattr(self, name))
        check_positive("model.update_period", self.update_period)
        if self.num_inference is not None:
            check_positive("model.num_inference", self.num_inference)
        if self.num_sampled >= graph.num_nodes:
            raise InputError(
                f"Setting model.num_sampled is {self.num_sampled}, but the graph has {graph.num_nodes} nodes "
                f"(at most {graph.num_nodes - 1} besides the centre)."
            )
        if self.initial is not None and len(self.initial) != len(self.heuristics):
            raise InputError(
                f"Setting model.initial has {len(self.initial)} values for {len(self.heuristics)} heuristics."
            )
        return self

    @property
    def active_heuristics(self) -> list[str]:
        """The heuristics that are mixed: all, or the one that `sampling` names."""
        return list(self.heuristics) if self.sampling in ("adaptive", "fixed") else [self.sampling]
