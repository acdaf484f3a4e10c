"""Names on the command line that are graphs on disk: a graph file, a folder of tables, tables between commas."""

import os
from pathlib import Path

from ansgt.errors import InputError
from ansgt.settings import brief

SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
"""Files that are tables."""
ARRAYS = (".npz", ".pt", ".pth")
GRAPH_FILES = (*ARRAYS, ".graphml", *SUFFIXES)
STEMS = (("edges", "links"), ("features", "nodes"), ("labels",))
"""Names of the tables in a folder, without their suffix."""


def is_graph_path(name: str) -> bool:
    """Whether a name is that of a graph on disk, not of a known data set.

    >>> is_graph_path("mine.npz"), is_graph_path("edges.csv, features.csv"), is_graph_path("cora")
    (True, True, False)
    """
    return (
        name.lower().endswith(GRAPH_FILES)
        or (os.path.isdir(name) and _edges_in(Path(name)) is not None)
        or (os.sep in name and os.path.isdir(name))
    )


def graph_name(name: str) -> str:
    """What a graph on disk is called: the first part of its path without suffix; a folder's name.

    >>> graph_name("data/edges.csv,data/features.csv"), graph_name("mine.npz"), graph_name("data/friends/")
    ('edges', 'mine', 'friends')
    """
    last = Path(name.split(",")[0].strip()).name
    suffixes = sorted(GRAPH_FILES, key=len, reverse=True)
    suffix = next((one for one in suffixes if last.lower().endswith(one)), "")
    return last[: len(last) - len(suffix)]


def absolute(name: str) -> str:
    """The same name with whole paths, wherever it is read later."""
    if os.path.isdir(name) or os.path.isfile(name):
        return str(Path(name).resolve())
    return ",".join(str(Path(part.strip()).resolve()) for part in name.split(",") if part.strip())


def read_tables(name: str) -> list[Path | None] | None:
    """The paths of edges, features and labels; None where the name is no table's."""
    path = Path(name)
    if os.path.isdir(path):
        found = [_first(path, stems) for stems in STEMS]
        if found[0] is None:
            raise InputError(f"The folder {path} has no table of edges: name it edges.csv (or .parquet).")
        return found
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if os.path.isfile(path) or len(parts) < 2:
        return [path] if name.lower().endswith(SUFFIXES) else None
    if len(parts) > 3 or not all(part.lower().endswith(SUFFIXES) for part in parts):
        raise InputError(
            f"Tables are given as EDGES,FEATURES or EDGES,FEATURES,LABELS, each in {', '.join(SUFFIXES)}, "
            f"not as {brief(name)!r}."
        )
    return [Path(part) for part in parts]


def _edges_in(folder: Path) -> Path | None:
    return _first(folder, STEMS[0])


def _first(folder: Path, stems: tuple[str, ...]) -> Path | None:
    paths = (folder / f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES)
    return next((path for path in paths if path.is_file()), None)
