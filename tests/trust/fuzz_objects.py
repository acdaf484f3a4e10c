"""More of what the fuzzer feeds: tables, networkx, scipy and dicts, stored rows, and calls of a fitted classifier."""

import contextlib
import gzip
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
import torch
from fuzz_graphs import ODD_NAMES, good_graph
from fuzz_mutations import Case, Rng, Wrong, evil_value, mutate_array, mutate_bytes, mutate_tree, pick
from pyarrow import parquet

import ansgt
from ansgt.datasets import as_graph, load
from ansgt.graph import Graph
from ansgt.heuristics import HEURISTICS, StoredHeuristic
from ansgt.sequences import SequenceSettings
from ansgt.storage import DiskCache

ODD: tuple[Any, ...] = (
    10**400, 2**63, "\udcff", "a\x00b", b"\xff", 1j, (1, 2), [1], {"a": 1}, pd.NA, pd.NaT, np.array(3), np.zeros(2),
    object(), torch.zeros(0), range(3), "9" * 5000, "x" * 900, "</script>", "$x_{", np.float32("nan"), slice(1), int,
)  # fmt: skip
TINY = {"num_layers": 1, "hidden_channels": 4, "num_heads": 1, "num_augmentations": 1, "num_sampled": 3}


def odd(rng: Rng) -> Any:
    return pick(rng, ODD) if rng.random() < 0.6 else evil_value(rng)


def check(graph: Graph) -> None:
    """It is a simple graph with finite features, labels in range, and names that come back."""
    n, x = graph.num_nodes, graph.features
    x = x.toarray() if sp.issparse(x) else x
    if graph.adj.shape != (n, n) or (abs(graph.adj - graph.adj.T)).nnz or graph.adj.diagonal().any():
        raise Wrong("the adjacency is not that of a simple graph")
    if x.shape[0] != n or not np.isfinite(x).all() or len(graph.y) != n:
        raise Wrong("features or labels of another size, or not finite")
    if int(graph.y.min()) < -1 or int(graph.y.max()) >= max(graph.num_classes, 1):
        raise Wrong("labels out of range")
    json.dumps(graph.labelling.as_dict())
    if any(graph.place(graph.node_name(node)) != node for node in range(min(n, 5))):
        raise Wrong("a name leads to another node")


Columns = dict[str, list[Any]]


def good_tables(rng: Rng) -> tuple[Columns, Columns]:
    """Edges, and features with labels, of nodes with names of one kind."""
    number = int(rng.integers(1, 12))
    kind = pick(rng, ("n{}", "{}", "00{}", "é {}", "{}.5", "node,{}"))
    names = [kind.format(i) for i in range(number)]
    ends = [[pick(rng, names) for _ in range(int(rng.integers(1, 12)))] for _ in range(2)]
    edges = {"source": ends[0], "target": (ends[1] * 12)[: len(ends[0])]}
    return edges, {"node": names, "size": rng.normal(size=number).round(2).tolist(),
                   "kind": [pick(rng, "abc") for _ in names],
                   "label": [pick(rng, ("cat", "dog")) for _ in names]}  # fmt: skip


def mutate_table(rng: Rng, table: Columns) -> Columns:
    for _ in range(int(rng.integers(0, 3))):
        key, how = pick(rng, table), rng.random()
        if how < 0.6 and table[key]:
            table[key] = [*table[key]]
            table[key][int(rng.integers(len(table[key])))] = odd(rng)
        elif how < 0.75:
            table[pick(rng, ("id", "label", "split", "weight", "", "x" * 900, *ODD_NAMES))] = table.pop(key)
        elif how < 0.85 and len(table) > 1:
            del table[key]
        else:
            table[key] = table[key][:-1]
    return table


def tables_in_memory(rng: Rng, folder: Path) -> None:
    edges, features = (mutate_table(rng, table) for table in good_tables(rng))
    makers: tuple[Callable[[Any], Any], ...] = (dict, pd.DataFrame, pl.DataFrame, pa.table)
    given: list[Any] = []
    for table in (edges, features):
        try:
            given.append(pick(rng, makers)(table))
        except Exception:  # what the library itself does not take
            given.append(table)
    labels = pick(rng, (None, None, "label", odd(rng), [odd(rng)] * 3))
    check(as_graph(ansgt.from_edges(*given, labels))[0])


def _text(rng: Rng, table: Columns, separator: str) -> bytes:
    quoted = [
        [f'"{str(value).replace(chr(34), chr(34) * 2)}"' for value in (name, *values)]
        for name, values in table.items()
    ]
    length = max(map(len, quoted))
    rows = [
        separator.join(column[row] if row < len(column) else "" for column in quoted) for row in range(length)
    ]
    return "\n".join(rows).encode("utf-8", "surrogatepass")


def tables_on_disk(rng: Rng, folder: Path) -> None:
    edges, features = good_tables(rng)
    whole = rng.random() < 0.3
    suffix = pick(rng, (".csv", ".csv", ".tsv", ".csv.gz", ".parquet"))
    for name, table in (("edges", edges), ("features", features)):
        path, shown = folder / f"{name}{suffix}", table if whole else mutate_table(rng, dict(table))
        content = _text(rng, shown, "\t" if suffix == ".tsv" else ",")
        if suffix == ".parquet":
            with contextlib.suppress(Exception):  # what Arrow cannot hold
                parquet.write_table(pa.table(shown), path)
                content = path.read_bytes()
        content = gzip.compress(content) if suffix == ".csv.gz" else content
        path.write_bytes(mutate_bytes(rng, content) if not whole and rng.random() < 0.4 else content)
    listed = ",".join(str(folder / f"{name}{suffix}") for name in ("edges", "features"))
    graph = load(pick(rng, (str(folder), listed))).graph
    check(graph)
    if whole:
        check_names(graph, edges, features)


def check_names(graph: Graph, edges: Columns, features: Columns) -> None:
    """Edges and labels are those that the tables say, by name."""
    for one, other in zip(edges["source"], edges["target"], strict=True):
        if one != other and not graph.adj[graph.place(one), graph.place(other)]:
            raise Wrong(f"no edge {one} - {other}")
    for name, label in zip(features["node"], features["label"], strict=True):
        if graph.class_name(int(graph.y[graph.place(name)])) != label:
            raise Wrong(f"another label of {name}")
    if graph.num_nodes != len(features["node"]):
        raise Wrong(f"{graph.num_nodes} nodes of {len(features['node'])}")


def graphml(rng: Rng, folder: Path) -> None:
    graph = networkx.path_graph(5)
    for node in graph:
        graph.nodes[node].update(size=float(rng.normal()), label=pick(rng, ("u", "v")))
    text = "\n".join(networkx.generate_graphml(graph))
    how = rng.random()
    if how < 0.15:  # entities that multiply
        entities = "".join(f'<!ENTITY e{i + 1} "{f"&e{i};" * 10}">' for i in range(9))
        text = f'<!DOCTYPE g [<!ENTITY e0 "lol">{entities}]>' + text.replace("</data>", "&e9;</data>", 1)
    elif how < 0.3:
        text = '<!DOCTYPE g [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + text.replace(
            "</data>", "&f;</data>", 1
        )
    content = text.encode()
    (folder / "g.graphml").write_bytes(mutate_bytes(rng, content) if rng.random() < 0.7 else content)
    check(load(str(folder / "g.graphml")).graph)


def objects(rng: Rng, folder: Path) -> None:
    """networkx, scipy and dicts with anything in them."""
    how = int(rng.integers(3))
    if how == 0:
        graph = pick(rng, (networkx.Graph, networkx.DiGraph, networkx.MultiGraph))()
        for _ in range(int(rng.integers(1, 8))):
            with contextlib.suppress(TypeError, ValueError):  # what networkx does not take for a node
                graph.add_node(odd(rng), **{pick(rng, ("a", "b", "label")): odd(rng)})
                graph.add_edge(pick(rng, graph), pick(rng, graph))
        check(as_graph(graph)[0])
    elif how == 1:
        number = int(rng.integers(1, 8))
        matrix = sp.random(number, number, 0.4, format=pick(rng, ("csr", "csc", "coo", "lil")), rng=rng)
        if matrix.format in ("csr", "csc") and matrix.nnz and rng.random() < 0.5:
            pick(rng, (matrix.indices, matrix.indptr))[-1] = int(pick(rng, (-1, 10**9, number)))
        x, y = (pick(rng, (None, np.ones((number, 2)), odd(rng))) for _ in range(2))
        check(as_graph(ansgt.from_scipy(matrix, x, y, names=pick(rng, (None, None, odd(rng)))))[0])
    else:
        fields: dict[Any, Any] = good_graph(rng)
        for _ in range(int(rng.integers(1, 4))):
            key = pick(rng, fields)
            fields[key] = pick(
                rng, (odd(rng), mutate_array(rng, fields[key]), np.asarray(fields[key]).tolist())
            )
            if rng.random() < 0.2:
                fields[pick(rng, (*ODD_NAMES, "node_names", "class_names", "columns", 3, None))] = odd(rng)
        check(as_graph(fields)[0])


@cache
def fitted() -> tuple[Any, np.ndarray]:
    """A classifier of nodes with names, and its probabilities."""
    tables = good_tables(np.random.default_rng(5))
    clf = ansgt.NodeClassifier(epochs=1, device="cpu", cache_dir=tempfile.gettempdir(), **TINY).fit(tables)
    return clf, clf.predict_proba()


def calls(rng: Rng, folder: Path) -> None:
    """A fitted classifier that is asked for anything."""
    clf, expected = fitted()
    nodes = pick(rng, (odd(rng), [odd(rng)], [0], np.ones(len(expected), bool), [True], np.eye(2), []))
    how = int(rng.integers(4))
    if how == 0:
        found = clf.predict_proba(nodes=nodes)
        if found.ndim != 2 or not {row.tobytes() for row in found} <= {row.tobytes() for row in expected}:
            raise Wrong("other probabilities")
    elif how == 1:
        clf.explain(nodes, pick(rng, (1, 15, odd(rng))))
    elif how == 2:
        clf.score(nodes)
    else:
        with contextlib.chdir(folder):
            ansgt.NodeClassifier.load(
                pick(rng, (odd(rng), folder, "/", "x" * 5000)), device=pick(rng, ("cpu", odd(rng)))
            )


def heuristics_of(graph: Graph, cache: DiskCache) -> Iterator[np.ndarray]:
    """All rows of every heuristic, first as a table in the cache, then from stored shards."""
    for name in HEURISTICS:
        heuristic = HEURISTICS[name].from_settings(SequenceSettings(), graph.num_nodes, cache)
        yield heuristic.fit(graph).rows(np.arange(graph.num_nodes)).toarray()
        stored = StoredHeuristic(heuristic, cache).fit(graph)
        list(stored.complete())
        yield stored.rows(np.arange(graph.num_nodes)).toarray()


@cache
def prepared() -> tuple[Graph, Path, list[np.ndarray]]:
    """A graph, a cache that holds its heuristics' rows, and the rows."""
    graph, folder = (
        as_graph(good_tables(np.random.default_rng(5)))[0],
        Path(tempfile.mkdtemp(prefix="ansgt-fuzz-")),
    )
    return graph, folder, list(heuristics_of(graph, DiskCache(folder)))


def stored_rows(rng: Rng, folder: Path) -> None:
    """A cache that somebody else has changed costs time and changes no result."""
    graph, source, expected = prepared()
    shutil.copytree(source, folder / "cache")
    files = sorted(path for path in (folder / "cache").rglob("*") if path.is_file())
    for path in (pick(rng, files) for _ in range(3)):
        content = path.read_bytes()
        if path.suffix == ".json" and rng.random() < 0.7:
            path.write_text(json.dumps(mutate_tree(rng, json.loads(content))))
        else:
            path.write_bytes(pick(rng, (mutate_bytes(rng, content), pick(rng, files).read_bytes(), b"")))
    found = heuristics_of(graph, DiskCache(folder / "cache"))
    if not files or not all(map(np.array_equal, found, expected)):
        raise Wrong("a changed cache gives other rows")


OBJECTS: dict[str, Case] = {
    "tables in memory": tables_in_memory,
    "tables on disk": tables_on_disk,
    "graphml": graphml,
    "objects": objects,
    "calls": calls,
    "stored rows": stored_rows,
}
