"""The models: ANS-GT and the baselines it is compared with, by name."""

import importlib
from typing import Any

from ansgt.errors import InputError, unknown_name
from ansgt.models.base import NodeModel
from ansgt.settings import brief, shown

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
    "nagphormer": "ansgt.models.baselines.nagphormer:NAGphormer",
    "sgformer": "ansgt.models.baselines.sgformer:SGFormer",
    "polynormer": "ansgt.models.baselines.polynormer:Polynormer",
}
"""Name -> "module:class"; imported when asked for, so that one model does not pay for the others."""


def resolve_model(model: str | type) -> Any:
    """The class of a model that is given by name, or as a class of the user's own.

    >>> resolve_model("mlp").__name__
    'MLP'
    """
    name = model_name(model)
    if isinstance(model, type):
        return model
    module, _, attribute = MODELS[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def model_name(model: str | type) -> str:
    """The name under which a model is known and stored: one of `MODELS`, or that of the user's own class.

    >>> from ansgt.models.baselines.mlp import MLP
    >>> model_name("mlp"), model_name(MLP)
    ('mlp', 'mlp')
    """
    if isinstance(model, type):
        return _class_name(model)
    if not isinstance(model, str) or model not in MODELS:
        raise unknown_name("model", brief(model), MODELS)
    return model


def _class_name(model: type) -> str:
    target = f"{model.__module__}:{model.__qualname__}"
    for name, known in MODELS.items():
        if known == target:
            return name
    if not issubclass(model, NodeModel):
        raise InputError(f"A model of your own must be a subclass of NodeModel, not {shown(model)}.")
    if model.__name__ in MODELS:
        raise InputError(f"A model of your own must not be called '{model.__name__}': ansgt has one.")
    return model.__name__


def __getattr__(name: str) -> type:
    """`ansgt.models.ANSGT`, imported when asked for."""
    if name == "ANSGT":
        found: type = resolve_model("ansgt")
        return found
    raise AttributeError(f"module 'ansgt.models' has no attribute {name!r}")


__all__ = ["ANSGT", "MODELS", "NodeModel", "model_name", "resolve_model"]
