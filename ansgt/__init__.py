"""ansgt: Hierarchical Graph Transformer with Adaptive Node Sampling (ANS-GT, NeurIPS 2022), whole and trustworthy.

Stages in the order the data flows: `graph`, `datasets`, `heuristics`, `coarsening`, `sampling`, `sequences`,
`models`, `training`, `report`. The names below are imported when they are first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "Graph": "ansgt.graph",
    "Split": "ansgt.graph",
    "InputError": "ansgt.errors",
    "load_dataset": "ansgt.datasets",
    "NodeClassifier": "ansgt.classifier",
}
_STAGES = (
    "datasets",
    "heuristics",
    "coarsening",
    "sampling",
    "sequences",
    "models",
    "training",
    "report",
    "testing",
)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    if name in _STAGES:
        return importlib.import_module(f"ansgt.{name}")
    raise AttributeError(f"module 'ansgt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, *_STAGES, "__version__"])
