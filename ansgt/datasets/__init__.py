"""Data sets: a literal table of names, PyG's parsers, raw roots that are never written to, and named splits.

Opening a graph file is all that most callers need; the readers of other forms are imported when they are first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from ansgt.datasets.dataset import Dataset
from ansgt.datasets.load import load, load_dataset, load_graph

if TYPE_CHECKING:
    from ansgt.datasets.edges import from_edges
    from ansgt.datasets.labelled import LabelledNodes
    from ansgt.datasets.sources import as_data, as_graph, from_networkx, from_scipy

_LATER = {
    "LabelledNodes": "labelled",
    "as_data": "sources",
    "as_graph": "sources",
    "from_edges": "edges",
    "from_networkx": "sources",
    "from_scipy": "sources",
}
__all__ = [
    "Dataset",
    "LabelledNodes",
    "as_data",
    "as_graph",
    "from_edges",
    "from_networkx",
    "from_scipy",
    "load",
    "load_dataset",
    "load_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
