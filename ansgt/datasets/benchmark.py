"""Amazon, Coauthor and DBLP graphs of the gnn-benchmark collection, read by PyG; Facebook pages in the same format."""

from pathlib import Path

from torch_geometric.data import Data
from torch_geometric.datasets import Amazon, CitationFull, Coauthor
from torch_geometric.io import read_npz


def load_amazon(folder: Path, name: str) -> Data:
    return Amazon(str(folder), name)[0]


def load_coauthor(folder: Path, name: str) -> Data:
    return Coauthor(str(folder), name)[0]


def load_citation(folder: Path, name: str) -> Data:
    return CitationFull(str(folder), name)[0]


def load_facebook(folder: Path, name: str) -> Data:
    """MUSAE's page-page graph with its 4,714 binary features; PyG's `FacebookPagePage` has 128 reduced ones."""
    return read_npz(str(folder / name / "raw" / f"{name}.npz"), to_undirected=True)
