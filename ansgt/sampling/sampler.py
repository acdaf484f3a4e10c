"""`NodeSampler`: N nodes × S sequences for every centre from psi (Algorithm 1, line 8), on CPU and CUDA.

Of psi, the mixture's probabilities of a centre's candidates, N draws are made per sequence: with replacement, with repeats
merged into one slot (the default), or without replacement. Without, every candidate has a clock that rings after a random
time with rate psi, the first N that ring are drawn, and tau is when the next one would have rung: the reward needs it.
A round is one redraw of all sequences; the same (seed, round, centre, sequence) always draws the same.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ansgt.arrays import brief_repr
from ansgt.device import has_small_caches
from ansgt.errors import InputError, unknown_name
from ansgt.sampling.drawing import draw_with_replacement, race, sequence_keys, stream
from ansgt.sampling.mixture import Mixture, StreamedMixture

MODES = ("without", "with", "distinct")


@dataclass(frozen=True, eq=False)
class SampledNodes:
    """N slots × S sequences for B centres, and what the reward needs.

    Args:
        ids: drawn nodes [B, S, N], int64; 0 where masked.
        mask: True where a slot holds a node [B, S, N], bool; real slots come first.
        count: how often the node was drawn [B, S, N], int64; 1 except in mode "distinct", 0 where masked.
        position: column of the node in the mixture's tables [B, S, N], int64; 0 where masked.
        tau: time of the first clock that missed [B, S], float64 (`ansgt.sampling.drawing`); inf except in mode "without".
        nodes: the centres [B], int64.
        p: probabilities of the heuristics that were drawn with [K], float64.
        mode: one of "without", "with", "distinct".
        source: where Q is looked up.
    """

    ids: Tensor
    mask: Tensor
    count: Tensor
    position: Tensor
    tau: Tensor
    nodes: Tensor
    p: Tensor
    mode: str
    source: Mixture | StreamedMixture
    __repr__ = brief_repr

    @cached_property
    def mixture(self) -> Mixture:
        """The mixture that has the rows of these centres."""
        return self.source.of(self.nodes)

    @cached_property
    def rows(self) -> Tensor:
        return self.mixture.rows_of(self.nodes)

    @cached_property
    def q(self) -> Tensor:
        """Q of the drawn nodes [K, B, S, N], float32; 0 where masked."""
        return self.mixture.Q[:, self.rows[:, None, None], self.position] * self.mask

    @cached_property
    def psi(self) -> Tensor:
        """psi of the drawn nodes [B, S, N], float64; 0 where masked."""
        shares = self.mixture.shares(self.p, self.rows)
        return torch.einsum("kb,kbsn->bsn", shares, self.q.to(torch.float64))

    @cached_property
    def inclusion(self) -> Tensor:
        """Probability of being in the sequence [B, S, N], float64: given tau without replacement, else 1 - (1 - psi)^N."""
        if self.mode == "without":
            return -torch.expm1(-self.psi * self.tau[..., None].nan_to_num(posinf=1e300))
        return -torch.expm1(self.ids.shape[-1] * torch.log1p(-self.psi.clamp(max=1.0)))

    @property
    def active(self) -> Tensor:
        """Whether heuristic k proposes anything to a centre [K, B], bool."""
        return self.mixture.active[:, self.rows]

    def __len__(self) -> int:
        return len(self.nodes)

    def part(self, centres: slice) -> "SampledNodes":
        """What was drawn for some of the centres."""
        drawn = ("ids", "mask", "count", "position", "tau", "nodes")
        return replace(self, **{name: getattr(self, name)[centres] for name in drawn})


class NodeSampler:
    """Draws sequences of nodes; a draw depends on (seed, round, centre, sequence) and p alone.

    Args:
        mixture: candidates and Q, held or streamed.
        num_sampled: N.
        num_sequences: S.
        mode: "without" replacement; "with"; or "distinct": with replacement, repeats merged into one slot whose
            `count` is the multiplicity (the model adds log(count) to its attention logit: the same function at less cost).
        seed: of the hash.
    """

    def __init__(
        self,
        mixture: Mixture | StreamedMixture,
        *,
        num_sampled: int,
        num_sequences: int,
        mode: str = "distinct",
        seed: int = 0,
    ) -> None:
        if mode not in MODES:
            raise unknown_name("sampling mode", mode, MODES)
        if num_sampled < 1 or num_sequences < 1:
            raise InputError(
                f"num_sampled and num_sequences must be at least 1, not {num_sampled} and {num_sequences}."
            )
        self.mixture = mixture
        self.num_sampled = num_sampled
        self.num_sequences = num_sequences
        self.mode = mode
        self.seed = seed

    def draw(self, nodes: Tensor, p: Any, round: int = 0) -> SampledNodes:
        """Draws for the centres `nodes` [B] with the heuristics' probabilities `p` [K]."""
        mixture = self.mixture
        nodes = torch.as_tensor(nodes, dtype=torch.int64, device=mixture.device)
        p = torch.as_tensor(p, dtype=torch.float64).to(mixture.device)
        if p.shape != (mixture.num_heuristics,):
            raise InputError(f"p must have shape [{mixture.num_heuristics}], not {list(p.shape)}.")
        key = stream(self.seed, round)
        raced = self.mode == "without" and not has_small_caches(mixture.device)
        size = mixture.block(self.num_sequences if raced else 1, self.num_sequences * self.num_sampled)
        # split gives an empty list of centres one empty block
        parts = [self._draw_block(mixture.of(block), block, p, key) for block in nodes.split(size)]
        ids, position, count, tau = (torch.cat(field) for field in zip(*parts, strict=True))
        mask = position >= 0
        return SampledNodes(ids, mask, count, position.clamp_(min=0), tau, nodes, p, self.mode, mixture)

    def _draw_block(
        self, mixture: Mixture, nodes: Tensor, p: Tensor, key: int
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Drawn nodes (0 where masked), positions (-1 where masked), counts and tau for one block of centres."""
        rows = mixture.rows_of(nodes)
        psi = mixture.psi(p, rows)
        keys = sequence_keys(key, nodes, self.num_sequences)
        if self.mode == "without":
            position, tau = race(psi, mixture.candidates[rows], keys, self.num_sampled)
            count = (position >= 0).to(torch.int64)
        else:
            # heuristics of probability 0 may be all that propose something to a centre: then nothing is drawn
            lengths = mixture.lengths[rows] * (psi.sum(dim=1) > 0)
            merge = self.mode == "distinct"
            draws = draw_with_replacement(psi, lengths, keys, self.num_sampled, merge)
            position, count = draws.position, draws.count
            tau = torch.full(keys.shape, torch.inf, dtype=torch.float64, device=nodes.device)
        ids = mixture.candidates[rows[:, None, None], position.clamp(min=0)].to(torch.int64)
        return ids.mul_(position >= 0), position, count, tau
