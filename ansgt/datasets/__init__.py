"""Data sets: a literal table of names, PyG's parsers, raw roots that are never written to, and named splits."""

from ansgt.datasets.dataset import Dataset
from ansgt.datasets.edges import from_edges
from ansgt.datasets.labelled import LabelledNodes
from ansgt.datasets.load import load, load_dataset, load_graph
from ansgt.datasets.sources import as_data, as_graph, from_networkx, from_scipy

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
