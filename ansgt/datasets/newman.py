"""The Newman network of the paper's motivation (section 4, appendix A): generated, no files needed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import torch

from ansgt.errors import InputError
from ansgt.settings import NonNegative, Range, fit_value, shown

if TYPE_CHECKING:
    from torch_geometric.data import Data


MOST = 10_000
"""Nodes: every pair of them is drawn."""
KINDS: dict[str, Any] = {
    "seed": Annotated[int, Range(0, 2**32 - 1)],
    "nodes_per_class": Annotated[int, Range(2, MOST)],
    "num_classes": Annotated[int, Range(2, MOST)],
    "mean_degree": NonNegative,
    "features_per_class": Annotated[int, Range(1, MOST)],
    "mean_own_features": NonNegative,
    "mean_other_features": NonNegative,
}
"""What the arguments may be, but for the homophily."""


def _check(arguments: Mapping[str, Any]) -> None:
    for name, kind in {**KINDS, "homophily": float}.items():
        if fit_value(name, kind, arguments[name]) != arguments[name]:  # a number as text
            raise InputError(f"Setting {name} must be a number, not {shown(arguments[name])}.")
    if arguments["nodes_per_class"] * arguments["num_classes"] > MOST:
        raise InputError(f"A Newman network has at most {MOST} nodes.")


def newman_network(
    homophily: float = 0.75,
    seed: int = 0,
    nodes_per_class: int = 32,
    num_classes: int = 4,
    mean_degree: float = 16.0,
    features_per_class: int = 50,
    mean_own_features: float = 12.0,
    mean_other_features: float = 4.0,
) -> "Data":
    """Appendix A: 128 nodes in 4 classes, z_in + z_out = 16, 200 binary attributes with h_in = 12 and h_out = 4.

    A node has on average z_in = homophily * 16 neighbours in its own class (31 partners) and z_out in the others
    (96 partners). An attribute of the own class's block is 1 with p_in = h_in / h, any other with
    p_out = h_out / (3 h), h = 50.

    >>> newman_network(seed=1)
    Data(x=[128, 200], edge_index=[2, ...], y=[128])
    """
    from torch_geometric.data import Data

    _check(locals())
    if not 0.0 <= homophily <= 1.0:
        raise InputError(f"The homophily of a Newman network must be in [0, 1], not {homophily}.")
    rng = np.random.RandomState(
        seed
    )  # its stream is frozen, so a seed means the same graph on every platform
    num_nodes = nodes_per_class * num_classes
    y = np.repeat(np.arange(num_classes), nodes_per_class)
    same = y[:, None] == y[None, :]
    p_in = homophily * mean_degree / (nodes_per_class - 1)
    p_out = (1.0 - homophily) * mean_degree / (num_nodes - nodes_per_class)
    linked = np.triu(rng.random_sample((num_nodes, num_nodes)) < np.where(same, p_in, p_out), k=1)
    block = np.repeat(np.arange(num_classes), features_per_class)
    p_own = mean_own_features / features_per_class
    p_other = mean_other_features / (features_per_class * (num_classes - 1))
    own = y[:, None] == block[None, :]
    x = rng.random_sample(own.shape) < np.where(own, p_own, p_other)
    edges = np.concatenate([np.stack(np.nonzero(linked)), np.stack(np.nonzero(linked.T))], axis=1)
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.from_numpy(edges.astype(np.int64)),
        y=torch.from_numpy(y.astype(np.int64)),
    )
