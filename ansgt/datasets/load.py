"""From a name to a data set: a published one, a generated one, or by its path one's own graph."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from ansgt.datasets import custom
from ansgt.datasets.dataset import Dataset, splits_from_masks
from ansgt.datasets.fields import Fields
from ansgt.datasets.files import ARRAYS, absolute, graph_name, is_graph_path
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.settings import brief, fitted

if TYPE_CHECKING:  # PyG is imported by whoever parses raw files, not by every run
    from torch_geometric.data import Data


@dataclass(frozen=True)
class Source:
    """Where raw files are looked for, and what may be done about them; as for `load`."""

    root: Path | str = "data"
    cache_dir: Path | str | None = None
    allow_changed: bool = False
    download: bool = False

    def load(self, name: str) -> Dataset:
        options = {"allow_changed": self.allow_changed, "download": self.download}
        return load(name, self.root, cache_dir=self.cache_dir, **options)


def load(
    name: str,
    root: Path | str = "data",
    *,
    cache_dir: Path | str | None = None,
    allow_changed: bool = False,
    download: bool = False,
    **generator: Any,
) -> Dataset:
    """Loads a data set by name, or a user's own graph by path (see `ansgt.datasets.files`).

    Args:
        name: a key of `ansgt.datasets.published.DATASETS`, `newman-<homophily>`,
            `synthetic-<nodes>[-<mean degree>]`, or a path.
        root: folder with the raw files; read, never written to.
        cache_dir: where processed files go; default: the user's cache.
        allow_changed: accept raw files that differ from their pinned sha256.
        download: let PyG fetch what is not under the root (into the cache).
        generator: arguments of `newman_network` or fields of `SyntheticSettings`.
    """
    name = str(name)
    if is_graph_path(name):
        return _load_custom(name)
    base, _, homophily = name.partition("-")
    if base == "newman":
        return _load_newman(name, homophily, generator)
    if re.split(r"[-+]", name)[0] == "synthetic":
        return _load_synthetic(name, generator)
    if generator:
        raise InputError(f"Data set {brief(name)!r} is not generated: it takes no {', '.join(generator)}.")
    from ansgt.datasets.published import load_published  # only a published graph needs its table

    return load_published(name, Path(root), cache_dir, allow_changed=allow_changed, download=download)


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
    graph = dataset.graph
    source = graph.data if graph.data is not None else Fields(graph.x, graph.edge_index, graph.y)
    data = source if isinstance(source, Data) else Data(**Fields.of(source).as_dict())
    for part in ("train", "val", "test"):
        mask = torch.zeros(dataset.graph.num_nodes, dtype=torch.bool)
        mask[getattr(chosen, part)] = True
        data[f"{part}_mask"] = mask
    return data


def _load_custom(path: str) -> Dataset:
    name = graph_name(path)
    stored = custom.load(Path(path)) if path.endswith(ARRAYS) else _tables(path)
    place = absolute(path)
    try:
        graph, data = Graph.from_data(stored, name=name), Fields.of(stored)
    except InputError as error:
        raise InputError(f"{str(error).rstrip('.')} (graph file {path}).") from None
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
        return Dataset(name, place, graph, "given", {"given": splits_from_masks(data, "given")})
    return Dataset(name, place, graph, "uniform-60-20-20")


def _tables(path: str) -> Any:
    from ansgt.datasets.sources import as_data  # tables, GraphML: another few readers

    return as_data(path)


def _load_newman(name: str, homophily: str, options: dict[str, Any]) -> Dataset:
    from ansgt.datasets.newman import newman_network

    if homophily:
        try:
            options = {"homophily": float(homophily), **options}
        except ValueError:
            raise InputError(
                f"A Newman network is named newman or newman-<homophily>, not {brief(name)!r}."
            ) from None
    data = newman_network(**options)
    return Dataset(
        name, f"homophily {options.get('homophily', 0.75)}", Graph.from_data(data, name), "uniform-60-20-20"
    )


def _load_synthetic(name: str, options: dict[str, Any]) -> Dataset:
    """`synthetic-<nodes>[-<mean degree>][+<setting>=<value>...]`."""
    from ansgt.datasets.synthetic import SyntheticSettings, synthetic_graph  # compiles a kernel

    sizes, *more = name.split("+")
    _, *numbers = sizes.split("-")
    pairs = [part.partition("=") for part in more]
    if len(numbers) > 2 or not all(mark and value for _, mark, value in pairs):
        raise InputError(
            "A synthetic graph is named synthetic-<nodes>[-<mean degree>][+<setting>=<value>...], "
            f"not {brief(name)!r}."
        )
    given = dict(zip(("num_nodes", "mean_degree"), numbers, strict=False))
    given |= {key: value for key, _, value in pairs}
    read = {
        key: int(value) if value.isdecimal() and len(value) < 20 else value for key, value in given.items()
    }
    settings = fitted(SyntheticSettings, {**read, **options})
    graph, split = synthetic_graph(settings)
    variant = f"generated, homophily {settings.homophily:g}, noise {settings.noise:g}"
    return Dataset(name, variant, replace(graph, name=name), "given", {"given": [split]})
