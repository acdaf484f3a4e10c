"""ansgt: Hierarchical Graph Transformer with Adaptive Node Sampling (ANS-GT, NeurIPS 2022), whole and trustworthy.

Stages in the order the data flows: `graph`, `datasets`, `heuristics`, `coarsening`, `sampling`, `sequences`,
`pipeline`, `models`, `prediction`, `training`, `runs`, `report`. The names below are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what an editor sees; at run time `__getattr__` imports a name when it is asked for
    from ansgt.classifier import NodeClassifier
    from ansgt.datasets import LabelledNodes, from_edges, from_networkx, from_scipy, load_dataset
    from ansgt.errors import InputError
    from ansgt.graph import Graph, Split
    from ansgt.models.ansgt import ANSGT
    from ansgt.pipeline import SequencePipeline
    from ansgt.sampling import Exp4P, Mixture, NodeSampler
    from ansgt.sequences import Proximity

__version__ = "0.1.0"

_PUBLIC = {
    "ANSGT": "ansgt.models.ansgt",
    "Exp4P": "ansgt.sampling",
    "Graph": "ansgt.graph",
    "InputError": "ansgt.errors",
    "LabelledNodes": "ansgt.datasets",
    "Mixture": "ansgt.sampling",
    "NodeClassifier": "ansgt.classifier",
    "NodeSampler": "ansgt.sampling",
    "Proximity": "ansgt.sequences",
    "SequencePipeline": "ansgt.pipeline",
    "Split": "ansgt.graph",
    "from_edges": "ansgt.datasets",
    "from_networkx": "ansgt.datasets",
    "from_scipy": "ansgt.datasets",
    "load_dataset": "ansgt.datasets",
}
_STAGES = (
    "coarsening",
    "datasets",
    "heuristics",
    "models",
    "prediction",
    "report",
    "runs",
    "sampling",
    "sequences",
    "testing",
    "training",
)
__all__ = [
    "ANSGT",
    "Exp4P",
    "Graph",
    "InputError",
    "LabelledNodes",
    "Mixture",
    "NodeClassifier",
    "NodeSampler",
    "Proximity",
    "SequencePipeline",
    "Split",
    "from_edges",
    "from_networkx",
    "from_scipy",
    "load_dataset",
]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(importlib.import_module(_PUBLIC[name]), name)
    if name in _STAGES:
        return importlib.import_module(f"ansgt.{name}")
    raise AttributeError(f"module 'ansgt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PUBLIC, *_STAGES, "__version__"])
