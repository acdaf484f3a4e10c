"""Data sets: a literal table of names, PyG's parsers, raw roots that are never written to, and named splits."""

import importlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ansgt.datasets import custom
from ansgt.datasets.fields import Fields
from ansgt.datasets.newman import newman_network
from ansgt.datasets.raw import built, check_raw, find_raw, is_present
from ansgt.datasets.splits import GENERATED, generated_split
from ansgt.errors import InputError, unknown_name
from ansgt.graph import Graph, Split
from ansgt.storage import default_cache_dir, read_json, write_json

if TYPE_CHECKING:  # PyG is imported by whoever parses raw files, not by every run
    from torch_geometric.data import Data

__all__ = ["DATASETS", "Dataset", "DatasetSpec", "load", "load_dataset", "load_graph", "statistics"]


@dataclass(frozen=True)
class DatasetSpec:
    """Where a data set's raw files are and who reads them.

    Args:
        raw: folder of the raw files under the root; "" for a generated data set.
        pyg_name: the name its PyG class wants.
        files: glob patterns of what is read; those without a leading * must be there.
        load: "module:function" under `ansgt.datasets`, (folder laid out like the root, pyg_name) -> Data or `Fields`.
        variant: which published version this is.
        default_split: the split used when none is named.
        split_files: glob of Geom-GCN's ten split files.
    """

    raw: str
    pyg_name: str
    files: tuple[str, ...]
    load: str
    variant: str
    default_split: str = "uniform-60-20-20"
    split_files: str | None = None

    def parse(self, folder: Path) -> Fields:
        """What the raw files under `folder` hold; imports their parser."""
        module, _, name = self.load.partition(":")
        read = getattr(importlib.import_module(f"ansgt.datasets.{module}"), name)
        return Fields.of(read(folder, self.pyg_name))


_OUT1 = ("out1_graph_edges.txt", "out1_node_feature_label.txt")
_GEOM = "*_split_0.6_0.2_*.npz"


def _planetoid(name: str) -> DatasetSpec:
    stem = f"ind.{name.lower()}"
    files = tuple(f"{stem}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))
    return DatasetSpec(f"{name}/raw", name, (*files, _GEOM), "planetoid:load", "Planetoid", split_files=_GEOM)


def _geom_gcn(raw: str, name: str, load: str, variant: str) -> DatasetSpec:
    """PyG counts the ten split files among the raw ones: without them it would want to download."""
    stem = "film" if name == "actor" else name
    splits = tuple(f"{stem}_split_0.6_0.2_{i}.npz" for i in range(10))
    return DatasetSpec(raw, name, (*_OUT1, *splits), load, variant, split_files=_GEOM)


def _ogb(name: str) -> DatasetSpec:
    files = ("raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "raw/num-node-list.csv.gz")
    return DatasetSpec(name, name, (*files, "split/*/*.csv.gz"), "ogb:load", "OGB", default_split="official")


DATASETS: dict[str, DatasetSpec] = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "chameleon": _geom_gcn(
        "chameleon/geom_gcn/raw", "chameleon", "wikipedia:load", "Geom-GCN, duplicates kept"
    ),
    "squirrel": _geom_gcn("squirrel/geom_gcn/raw", "squirrel", "wikipedia:load", "Geom-GCN, duplicates kept"),
    "actor": _geom_gcn("actor/raw", "actor", "actor:load", "Geom-GCN (film)"),
    "texas": _geom_gcn("texas/raw", "texas", "webkb:load", "Geom-GCN"),
    "cornell": _geom_gcn(
        "cornell/raw", "cornell", "webkb:load", "Geom-GCN as published (Texas's features and labels)"
    ),
    "cornell-corrected": _geom_gcn(
        "cornell_2022/cornell/raw",
        "cornell",
        "webkb:load_corrected",
        "corrected 2022 (own features and labels)",
    ),
    "wisconsin": _geom_gcn("wisconsin/raw", "wisconsin", "webkb:load", "Geom-GCN"),
    "photo": DatasetSpec(
        "Photo/raw", "Photo", ("amazon_electronics_photo.npz",), "benchmark:load_amazon", "Amazon"
    ),
    "computers": DatasetSpec(
        "Computers/raw", "Computers", ("amazon_electronics_computers.npz",), "benchmark:load_amazon", "Amazon"
    ),
    "cs": DatasetSpec("CS/raw", "CS", ("ms_academic_cs.npz",), "benchmark:load_coauthor", "Coauthor"),
    "physics": DatasetSpec(
        "Physics/raw", "Physics", ("ms_academic_phy.npz",), "benchmark:load_coauthor", "Coauthor"
    ),
    "dblp": DatasetSpec("dblp/raw", "DBLP", ("dblp.npz",), "benchmark:load_citation", "CitationFull"),
    "facebook": DatasetSpec(
        "facebook_pagepage/raw",
        "facebook_pagepage",
        ("facebook_pagepage.npz",),
        "benchmark:load_facebook",
        "MUSAE, 4714 binary features",
    ),
    "minesweeper": DatasetSpec(
        "minesweeper/raw",
        "Minesweeper",
        ("minesweeper.npz",),
        "heterophilous:load",
        "Platonov et al. 2023",
        default_split="official",
    ),
    "tolokers": DatasetSpec(
        "tolokers/raw",
        "Tolokers",
        ("tolokers.npz",),
        "heterophilous:load",
        "Platonov et al. 2023",
        default_split="official",
    ),
    "ogbn-arxiv": _ogb("ogbn_arxiv"),
    "ogbn-products": _ogb("ogbn_products"),
    "newman": DatasetSpec("", "newman", (), "", "generated, homophily 0.75"),
}
"""Every known name. `newman-0.25` is a Newman network with homophily 0.25; a path is a user's own graph."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with the splits that were published with it.

    Args:
        stored: split name -> its repetitions (geom-gcn, public, official, given).
    """

    name: str
    variant: str
    graph: Graph
    default_split: str
    stored: dict[str, list[Split]] = field(default_factory=dict)

    @property
    def split_names(self) -> list[str]:
        return [*GENERATED, *self.stored]

    def split(self, name: str | None = None, index: int = 0, seed: int = 0) -> Split:
        """The split `name` (default: the data set's own), repetition `index`; `seed` matters to generated ones only."""
        name = name or self.default_split
        if name in GENERATED:
            return generated_split(name, self.graph.y, index, seed).check(self.graph)
        if name not in self.stored:
            raise unknown_name(f"split of data set '{self.name}'", name, self.split_names)
        if index >= len(self.stored[name]):
            raise InputError(
                f"Split '{name}' of data set '{self.name}' has {len(self.stored[name])} repetitions; "
                f"number {index} does not exist."
            )
        return self.stored[name][index].check(self.graph)


def load(
    name: str,
    root: Path | str = "data",
    *,
    cache_dir: Path | str | None = None,
    allow_changed: bool = False,
    download: bool = False,
    **generator: Any,
) -> Dataset:
    """Loads a data set by name, or a user's own graph by path (`.npz`, or a PyG `Data` in `.pt`).

    Args:
        name: a key of `DATASETS`, `newman-<homophily>`, or a path.
        root: folder with the raw files; read, never written to.
        cache_dir: where processed files go; default: the user's cache.
        allow_changed: accept raw files that differ from their pinned sha256.
        download: let PyG fetch what is not under the root (into the cache).
        generator: arguments of `newman_network`.
    """
    if name.endswith((".npz", ".pt", ".pth")):
        return _load_custom(Path(name))
    base, _, homophily = name.partition("-")
    if base == "newman":
        return _load_newman(name, homophily, generator)
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    spec, root = DATASETS[name], Path(root).expanduser()
    cache = Path(cache_dir).expanduser() if cache_dir is not None else default_cache_dir()
    if download and not is_present(root, spec.raw, spec.files):
        root = _download(name, spec, cache)
    folder = _processed(name, root, cache, allow_changed)
    fields = _stored_fields(spec, folder)
    graph = Graph.from_data(fields, name=name)
    return Dataset(name, spec.variant, graph, spec.default_split, _stored_splits(spec, fields, folder))


def load_graph(name: str, root: Path | str = "data", **options: Any) -> Graph:
    """The graph of a data set; options as in `load`."""
    return load(name, root, **options).graph


def load_dataset(
    name: str,
    root: Path | str = "data",
    *,
    split: str | None = None,
    index: int = 0,
    seed: int = 0,
    **options: Any,
) -> "Data":
    """A PyG `Data` with one-dimensional `train_mask`, `val_mask` and `test_mask` of the named split."""
    from torch_geometric.data import Data

    dataset = load(name, root, **options)
    chosen = dataset.split(split, index, seed)
    source = dataset.graph.data
    data = source if isinstance(source, Data) else Data(**Fields.of(source).as_dict())
    for part in ("train", "val", "test"):
        mask = torch.zeros(dataset.graph.num_nodes, dtype=torch.bool)
        mask[getattr(chosen, part)] = True
        data[f"{part}_mask"] = mask
    return data


def statistics(
    name: str, root: Path | str = "data", *, cache_dir: Path | str | None = None
) -> dict[str, Any]:
    """One row of `ansgt datasets`; the counts are None when the raw files are absent."""
    spec, root = DATASETS[name], Path(root).expanduser()
    row: dict[str, Any] = {
        "name": name,
        "present": is_present(root, spec.raw, spec.files),
        "variant": spec.variant,
    }
    row["default_split"] = spec.default_split
    if not row["present"]:
        return row | dict.fromkeys(_COUNTS)
    cache = Path(cache_dir).expanduser() if cache_dir is not None else default_cache_dir()
    stored = None
    if spec.raw:
        stored = _processed(name, root, cache, allow_changed=False) / "statistics.json"
        if stored.exists():
            return row | read_json(stored)
    dataset = load(name, root, cache_dir=cache)
    graph = dataset.graph
    counts = {
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "num_classes": graph.num_classes,
        "num_features": graph.num_features,
        "edge_homophily": graph.edge_homophily(),
        "edge_homophily_with_loops": graph.edge_homophily(keep_loops=True),
        "node_homophily": graph.node_homophily(),
        "num_isolated": int(np.sum(graph.degree == 0)),
        "num_loops": int(graph.loops.sum()),
        "splits": dataset.split_names,
    }
    if stored is not None:
        write_json(stored, counts)
    return row | counts


_COUNTS = (
    "num_nodes",
    "num_edges",
    "num_classes",
    "num_features",
    "edge_homophily",
    "edge_homophily_with_loops",
    "node_homophily",
)


def _processed(name: str, root: Path, cache: Path, allow_changed: bool) -> Path:
    """The folder in the cache that holds copies of the checked raw files, and what PyG made of them."""
    spec = DATASETS[name]
    files = find_raw(root, spec.raw, spec.files, name)
    key = check_raw(root, files, allow_changed)
    target = cache / "datasets" / f"{name}-{key}"
    return built(root, files, target, lambda folder: _stored_fields(spec, folder))


def _stored_fields(spec: DatasetSpec, folder: Path) -> Fields:
    """The fields in a folder of the cache, parsed the first time."""
    path = folder / "fields.safetensors"
    stored = Fields.read(path)
    if stored is None:
        stored = spec.parse(folder)
        stored.write(path)
    return stored


def _download(name: str, spec: DatasetSpec, cache: Path) -> Path:
    """Lets PyG fetch the raw files into the cache and returns the folder that then serves as the root.

    What PyG fetched is checked like any other root before it counts (`_processed`).
    """
    if spec.load in ("webkb:load_corrected", "benchmark:load_facebook", "ogb:load"):
        raise InputError(
            f"PyG cannot fetch data set '{name}' in this variant; put its raw files under --root."
        )
    target = cache / "downloads"
    try:
        spec.parse(target)
    except (OSError, RuntimeError) as error:  # URLError is an OSError
        raise InputError(f"Data set '{name}' could not be downloaded: {error}.") from None
    return target


def _stored_splits(spec: DatasetSpec, data: Fields, folder: Path) -> dict[str, list[Split]]:
    stored: dict[str, list[Split]] = {}
    if spec.split_files is not None:
        paths = sorted((folder / spec.raw).glob(spec.split_files))
        stored["geom-gcn"] = [_read_geom_gcn(path, index) for index, path in enumerate(paths)]
    if spec.load == "planetoid:load":
        stored["public"] = _from_masks(data, "public")
    if spec.default_split == "official":
        stored["official"] = _from_masks(data, "official")
    return {name: splits for name, splits in stored.items() if splits}


def _read_geom_gcn(path: Path, index: int) -> Split:
    with np.load(path, allow_pickle=False) as masks:
        parts = [torch.from_numpy(masks[f"{part}_mask"].astype(bool)) for part in ("train", "val", "test")]
    return Split.from_masks(parts[0], parts[1], parts[2], "geom-gcn", index)


def _from_masks(data: Fields, name: str) -> list[Split]:
    masks = data.as_dict()
    train, val, test = (masks[f"{part}_mask"] for part in ("train", "val", "test"))
    if train.ndim == 1:
        train, val, test = train[:, None], val[:, None], test[:, None]
    columns = range(train.shape[1])
    return [Split.from_masks(train[:, i], val[:, i], test[:, i], name, i) for i in columns]


def _load_custom(path: Path) -> Dataset:
    stored = custom.load(path)
    graph, data = Graph.from_data(stored, name=path.stem), Fields.of(stored)
    names = ("train_mask", "val_mask", "test_mask")
    masks = data.as_dict()
    given = [name for name in names if name in masks]
    if given == ["train_mask", "val_mask"]:  # a graph whose other labels are unknown has nothing to test on
        data = replace(data, test_mask=torch.zeros_like(masks["train_mask"]))
        given = list(names)
    elif given and len(given) < 3:
        raise InputError(
            f"The graph file {path} has {', '.join(given)} but not {', '.join(n for n in names if n not in given)}; "
            "give train_mask and val_mask (test_mask may be absent), or none."
        )
    if given:
        return Dataset(path.stem, str(path.resolve()), graph, "given", {"given": _from_masks(data, "given")})
    return Dataset(path.stem, str(path.resolve()), graph, "uniform-60-20-20")


def _load_newman(name: str, homophily: str, options: dict[str, Any]) -> Dataset:
    if homophily:
        try:
            options = {"homophily": float(homophily), **options}
        except ValueError:
            raise InputError(
                f"A Newman network is named newman or newman-<homophily>, not {name!r}."
            ) from None
    data = newman_network(**options)
    return Dataset(
        name, f"homophily {options.get('homophily', 0.75)}", Graph.from_data(data, name), "uniform-60-20-20"
    )
