"""The published data sets: a table of their raw files, readers and versions, and how one is loaded."""

import contextlib
import json
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from ansgt.datasets.dataset import Dataset, splits_from_masks
from ansgt.datasets.fields import Fields
from ansgt.datasets.raw import RawFiles, check_raw, find_raw, is_present
from ansgt.errors import InputError, reason, unknown_name
from ansgt.graph import Graph, Split
from ansgt.seal import is_sealed, seal
from ansgt.storage import content_hash, default_cache_dir, make_folder, write_json


@dataclass(frozen=True)
class DatasetSpec:
    """Where a data set's raw files are and who reads them.

    Args:
        raw: folder of the raw files under the root; "" for a generated data set.
        pyg_name: the name its PyG class wants.
        files: glob patterns of what is read; those without a leading * must be there.
        reader: function of `ansgt.datasets.readers`.
        variant: which published version this is.
        default_split: the split used when none is named.
        split_files: glob of Geom-GCN's ten split files.
    """

    raw: str
    pyg_name: str
    files: tuple[str, ...]
    reader: str
    variant: str
    default_split: str = "uniform-60-20-20"
    split_files: str | None = None

    def parse(self, folder: Path) -> Fields:
        """What the raw files under `folder` hold."""
        from ansgt.datasets import readers  # imports PyG

        return Fields.of(getattr(readers, self.reader)(folder, self.pyg_name))


_OUT1 = ("out1_graph_edges.txt", "out1_node_feature_label.txt")
_GEOM = "*_split_0.6_0.2_*.npz"


def _planetoid(name: str) -> DatasetSpec:
    stem = f"ind.{name.lower()}"
    files = tuple(f"{stem}.{part}" for part in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))
    return DatasetSpec(f"{name}/raw", name, (*files, _GEOM), "planetoid", "Planetoid", split_files=_GEOM)


def _geom_gcn(raw: str, name: str, reader: str, variant: str) -> DatasetSpec:
    """PyG counts the ten split files among the raw ones: without them it would want to download."""
    stem = "film" if name == "actor" else name
    splits = tuple(f"{stem}_split_0.6_0.2_{i}.npz" for i in range(10))
    return DatasetSpec(raw, name, (*_OUT1, *splits), reader, variant, split_files=_GEOM)


def _ogb(name: str) -> DatasetSpec:
    files = ("raw/edge.csv.gz", "raw/node-feat.csv.gz", "raw/node-label.csv.gz", "raw/num-node-list.csv.gz")
    return DatasetSpec(name, name, (*files, "split/*/*.csv.gz"), "ogb", "OGB", default_split="official")


DATASETS: dict[str, DatasetSpec] = {
    "cora": _planetoid("Cora"),
    "citeseer": _planetoid("CiteSeer"),
    "pubmed": _planetoid("PubMed"),
    "chameleon": _geom_gcn("chameleon/geom_gcn/raw", "chameleon", "wikipedia", "Geom-GCN, duplicates kept"),
    "squirrel": _geom_gcn("squirrel/geom_gcn/raw", "squirrel", "wikipedia", "Geom-GCN, duplicates kept"),
    "actor": _geom_gcn("actor/raw", "actor", "actor", "Geom-GCN (film)"),
    "texas": _geom_gcn("texas/raw", "texas", "webkb", "Geom-GCN"),
    "cornell": _geom_gcn(
        "cornell/raw", "cornell", "webkb", "Geom-GCN as published (Texas's features and labels)"
    ),
    "cornell-corrected": _geom_gcn(
        "cornell_2022/cornell/raw",
        "cornell",
        "webkb_corrected",
        "corrected 2022 (own features and labels)",
    ),
    "wisconsin": _geom_gcn("wisconsin/raw", "wisconsin", "webkb", "Geom-GCN"),
    "photo": DatasetSpec("Photo/raw", "Photo", ("amazon_electronics_photo.npz",), "amazon", "Amazon"),
    "computers": DatasetSpec(
        "Computers/raw", "Computers", ("amazon_electronics_computers.npz",), "amazon", "Amazon"
    ),
    "cs": DatasetSpec("CS/raw", "CS", ("ms_academic_cs.npz",), "coauthor", "Coauthor"),
    "physics": DatasetSpec("Physics/raw", "Physics", ("ms_academic_phy.npz",), "coauthor", "Coauthor"),
    "dblp": DatasetSpec("dblp/raw", "DBLP", ("dblp.npz",), "citation", "CitationFull"),
    "facebook": DatasetSpec(
        "facebook_pagepage/raw",
        "facebook_pagepage",
        ("facebook_pagepage.npz",),
        "facebook",
        "MUSAE, 4714 binary features",
    ),
    "minesweeper": DatasetSpec(
        "minesweeper/raw",
        "Minesweeper",
        ("minesweeper.npz",),
        "heterophilous",
        "Platonov et al. 2023",
        default_split="official",
    ),
    "tolokers": DatasetSpec(
        "tolokers/raw",
        "Tolokers",
        ("tolokers.npz",),
        "heterophilous",
        "Platonov et al. 2023",
        default_split="official",
    ),
    "ogbn-arxiv": _ogb("ogbn_arxiv"),
    "ogbn-products": _ogb("ogbn_products"),
    "newman": DatasetSpec("", "newman", (), "", "generated, homophily 0.75"),
    "synthetic": DatasetSpec("", "synthetic", (), "", "generated, homophily 0.6, any size", "given"),
}
"""Every known name. `newman-0.25` is a Newman network with homophily 0.25, `synthetic-170000-14` a graph of that many
nodes and that mean degree; a path is a user's own graph."""


def load_published(
    name: str, root: Path, cache_dir: Path | str | None, *, allow_changed: bool, download: bool
) -> Dataset:
    """A data set of the table: raw files are checked, parsed once, then read from the cache; arguments as for `load`."""
    if name not in DATASETS:
        raise unknown_name("data set", name, DATASETS)
    spec, root = DATASETS[name], root.expanduser()
    cache = Path(cache_dir).expanduser() if cache_dir is not None else default_cache_dir()
    if download and not is_present(root, spec.raw, spec.files):
        root = _download(name, spec, cache)
    raw = find_checked(name, root, allow_changed)
    fields = _stored_fields(name, raw, cache)
    graph = Graph.from_data(fields, name=name)
    return Dataset(name, spec.variant, graph, spec.default_split, _stored_splits(spec, fields, raw))


def find_checked(name: str, root: Path, allow_changed: bool = False) -> RawFiles:
    """The raw files of a data set, each with the published sha256."""
    spec = DATASETS[name]
    return check_raw(root, find_raw(root, spec.raw, spec.files, name), allow_changed)


def remembered_counts(
    name: str, raw: RawFiles, cache: Path, count: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What `count` says of a data set, kept in the cache."""
    path, source = _cache_folder(name, raw, cache) / "statistics.json", f"{name}-{raw.key}"
    try:
        stored = json.loads(path.read_bytes()) if path.is_file() else {}
        if is_sealed(content_hash(source, stored["counts"]), stored["seal"]):
            known: dict[str, Any] = stored["counts"]
            return known
    except Exception:  # whatever is wrong with a file of a cache costs time alone
        pass
    counts = count()
    with _kept(cache):
        write_json(path, {"counts": counts, "seal": seal(content_hash(source, counts))})
    return counts


def _cache_folder(name: str, raw: RawFiles, cache: Path) -> Path:
    return cache / "datasets" / f"{name}-{raw.key}"


def _stored_fields(name: str, raw: RawFiles, cache: Path) -> Fields:
    """The fields of a data set, parsed the first time."""
    path, source = _cache_folder(name, raw, cache) / "fields.safetensors", f"{name}-{raw.key}"
    stored = Fields.read(path, source)
    if stored is None:
        stored = _parse(name, raw)
        with _kept(cache):
            stored.write(path, source)
    return stored


def _parse(name: str, raw: RawFiles) -> Fields:
    """Some raw files are pickles, and PyG reads back what it finds processed: the parser sees a checked copy alone."""
    with raw.copied() as folder:
        try:
            return DATASETS[name].parse(folder)
        except InputError:
            raise
        except Exception as error:  # of PyG, numpy, pickle
            raise InputError(
                f"The raw files of data set '{name}' under {raw.root} cannot be read: {reason(error)}."
            ) from None


@contextmanager
def _kept(cache: Path) -> Iterator[None]:
    """A cache that is full or must not be written to costs time alone."""
    try:
        yield
    except (OSError, SafetensorError, InputError) as error:
        warnings.warn(f"Nothing is kept in the cache {cache}: {reason(error)}.", stacklevel=3)


def _download(name: str, spec: DatasetSpec, cache: Path) -> Path:
    """Lets PyG fetch the raw files into the cache and returns the folder that then serves as the root.

    They are only fetched: before anything parses them they are checked like those of any other root.
    """
    if spec.reader in ("webkb_corrected", "facebook", "ogb"):
        raise InputError(
            f"PyG cannot fetch data set '{name}' in this variant; put its raw files under --root."
        )
    target = cache / "downloads"
    try:
        find_checked(name, target)
        return target
    except InputError:  # absent, or not what was published
        pass
    try:
        with tempfile.TemporaryDirectory(prefix="ansgt-raw-") as folder:
            _fetch(spec, Path(folder))
            shutil.copytree(folder, make_folder(target), dirs_exist_ok=True)
    except InputError:
        raise
    except Exception as error:  # of the network, PyG, the disk
        raise InputError(f"Data set '{name}' could not be downloaded: {reason(error)}.") from None
    return target


class _Fetched(Exception):
    """Raised in place of processing what was fetched."""


def _fetch(spec: DatasetSpec, folder: Path) -> None:
    from unittest.mock import patch

    from torch_geometric.data import Dataset as PygDataset

    with contextlib.suppress(_Fetched), patch.object(PygDataset, "_process", side_effect=_Fetched):
        spec.parse(folder)


def _stored_splits(spec: DatasetSpec, data: Fields, raw: RawFiles) -> dict[str, list[Split]]:
    stored: dict[str, list[Split]] = {}
    if spec.split_files is not None:
        names = sorted(name for name in raw.digests if Path(name).match(spec.split_files))
        stored["geom-gcn"] = [_read_geom_gcn(raw, name, index) for index, name in enumerate(names)]
    if spec.reader == "planetoid":
        stored["public"] = splits_from_masks(data, "public")
    if spec.default_split == "official":
        stored["official"] = splits_from_masks(data, "official")
    return {name: splits for name, splits in stored.items() if splits}


def _read_geom_gcn(raw: RawFiles, name: str, index: int) -> Split:
    try:
        with np.load(BytesIO(raw.read(name)), allow_pickle=False) as masks:
            parts = [
                torch.from_numpy(masks[f"{part}_mask"].astype(bool)) for part in ("train", "val", "test")
            ]
    except InputError:
        raise
    except Exception as error:  # zlib, zipfile, numpy
        raise InputError(f"Cannot read the split {raw.root / name}: {reason(error)}.") from None
    return Split.from_masks(parts[0], parts[1], parts[2], "geom-gcn", index)
