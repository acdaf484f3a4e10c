"""Normalisation of hidden features [n, d], by name."""

from torch import nn

from ansgt.errors import unknown_name

NORMS: dict[str, type[nn.Module]] = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


def make_norm(name: str, channels: int) -> nn.Module:
    """
    >>> make_norm("layer", 8)
    LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
    """
    if name not in NORMS:
        raise unknown_name("norm", name, NORMS)
    return NORMS[name](channels)
