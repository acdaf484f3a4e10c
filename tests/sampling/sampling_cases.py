"""A mixture with random Q on a handful of candidates, for statistics."""

import torch

from ansgt.sampling import Mixture


def random_mixture(
    num_candidates: int = 12, num_rows: int = 1, seed: int = 0, sparse: bool = True
) -> Mixture:
    """Four heuristics; the first proposes few candidates, the last nearly all: where a wrong reward goes wrong."""
    generator = torch.Generator().manual_seed(seed)
    Q = torch.rand(4, num_rows, num_candidates, generator=generator) ** 3 + 1e-3
    if sparse:
        for k, share in enumerate((0.25, 0.4, 0.7, 1.0)):
            Q[k, :, max(int(share * num_candidates), 1) :] = 0
    Q = Q / Q.sum(dim=-1, keepdim=True)
    return Mixture(
        candidates=torch.arange(1, num_candidates + 1, dtype=torch.int32).repeat(num_rows, 1),
        lengths=torch.full((num_rows,), num_candidates),
        Q=Q,
        active=torch.ones(4, num_rows, dtype=torch.bool),
    )


P = torch.tensor([0.4, 0.3, 0.2, 0.1], dtype=torch.float64)
