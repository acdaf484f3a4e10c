"""The models: ANS-GT and the baselines it is compared with, by name."""

import importlib

from ansgt.errors import unknown_name
from ansgt.models.base import NodeModel

MODELS: dict[str, str] = {
    "ansgt": "ansgt.models.ansgt:ANSGT",
    "mlp": "ansgt.models.baselines.mlp:MLP",
    "gcn": "ansgt.models.baselines.gcn:GCN",
    "gat": "ansgt.models.baselines.gat:GAT",
    "sage": "ansgt.models.baselines.sage:SAGE",
    "jknet": "ansgt.models.baselines.jknet:JKNet",
    "appnp": "ansgt.models.baselines.appnp:APPNP",
    "geomgcn": "ansgt.models.baselines.geomgcn:GeomGCN",
    "h2gcn": "ansgt.models.baselines.h2gcn:H2GCN",
    "gprgnn": "ansgt.models.baselines.gprgnn:GPRGNN",
    "gt": "ansgt.models.baselines.gt:GT",
    "san": "ansgt.models.baselines.san:SAN",
    "graphormer": "ansgt.models.baselines.graphormer:Graphormer",
    "gophormer": "ansgt.models.baselines.gophormer:Gophormer",
    "acmgcn": "ansgt.models.baselines.acmgcn:ACMGCN",
}
"""Name -> "module:class"; imported when asked for, so that one model does not pay for the others."""


def resolve_model(name: str) -> type:
    """The class behind a name.

    >>> resolve_model("mlp").__name__
    'MLP'
    """
    if name not in MODELS:
        raise unknown_name("model", name, MODELS)
    module, _, attribute = MODELS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __getattr__(name: str) -> type:
    """`ansgt.models.ANSGT`, imported when asked for."""
    if name == "ANSGT":
        return resolve_model("ansgt")
    raise AttributeError(f"module 'ansgt.models' has no attribute {name!r}")


__all__ = ["ANSGT", "MODELS", "NodeModel", "resolve_model"]
