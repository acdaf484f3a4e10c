"""Data sets: a literal table of names, PyG's parsers, raw roots that are never written to, and named splits."""

from ansgt.datasets.dataset import Dataset
from ansgt.datasets.load import load, load_dataset, load_graph

__all__ = ["Dataset", "load", "load_dataset", "load_graph"]
