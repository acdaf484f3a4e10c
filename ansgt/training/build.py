"""From a model's name to its settings and its learner."""

import dataclasses
import importlib
import inspect
from typing import Any

import torch

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.models import resolve_model
from ansgt.storage import DiskCache
from ansgt.training.learner import FullBatchLearner, Learner

LEARNERS: dict[str, str] = {
    "ansgt": "ansgt.training.adaptive:AdaptiveLearner",
    "gophormer": "ansgt.training.gophormer:GophormerLearner",
}
"""Models that are not trained full-batch -> "module:class". A learner class may name its `Settings` dataclass and the
`section_defaults` it prefers."""


def learner_class(model: str) -> type:
    if model not in LEARNERS:
        resolve_model(model)
        return FullBatchLearner
    module, _, name = LEARNERS[model].partition(":")
    return getattr(importlib.import_module(module), name)


def model_defaults(model: str) -> dict[str, Any]:
    """Every setting of a model with its default: what `-o` and a settings file may change."""
    settings = getattr(learner_class(model), "Settings", None)
    if settings is not None:
        return dataclasses.asdict(settings())
    parameters = inspect.signature(resolve_model(model)).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def section_defaults(model: str) -> dict[str, dict[str, Any]]:
    return getattr(learner_class(model), "section_defaults", {})


def build_learner(config: RunConfig, graph: Graph, split: Split, cache: DiskCache) -> Learner:
    """The learner of one split, freshly initialised from the global generators."""
    return learner_class(config.model)(config, graph, split, cache)


def resolve_device(name: str) -> str:
    """ "auto" is CUDA where there is one; anything else is checked.

    >>> resolve_device("cpu")
    'cpu'
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f"Unknown device {name!r}; known: auto, cpu, cuda, cuda:<number>.") from None
    if device.type == "cuda" and (
        not torch.cuda.is_available() or (device.index or 0) >= torch.cuda.device_count()
    ):
        raise InputError(f"Device {name!r} was asked for, but this machine has no such CUDA device.")
    if device.type not in ("cpu", "cuda"):
        raise InputError(f"Device {name!r} is not supported; known: auto, cpu, cuda, cuda:<number>.")
    return name
