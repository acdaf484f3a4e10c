"""Data sets: the published counts, a root that stays as it was, and files that are not what they claim to be."""

import gzip
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ansgt.datasets import DATASETS, load, load_dataset, load_graph, statistics
from ansgt.datasets.newman import newman_network
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.storage import file_sha256

# data/README.md: nodes, edges, classes, features, edge homophily, node homophily
PUBLISHED = {
    "cora": (2708, 5278, 7, 1433, 0.810, 0.825),
    "citeseer": (3327, 4552, 6, 3703, 0.736, 0.717),
    "pubmed": (19717, 44324, 3, 500, 0.802, 0.792),
    "chameleon": (2277, 31371, 5, 2325, 0.230, 0.248),
    "actor": (7600, 26659, 5, 932, 0.217, 0.222),
    "texas": (183, 279, 5, 1703, 0.061, 0.087),
    "cornell": (183, 277, 5, 1703, 0.296, 0.306),
    "cornell-corrected": (183, 277, 5, 1703, 0.123, 0.118),
    "wisconsin": (251, 450, 5, 1703, 0.178, 0.171),
    "photo": (7650, 119081, 8, 745, 0.827, 0.849),
    "dblp": (17716, 52867, 4, 1639, 0.828, 0.813),
    "minesweeper": (10000, 39402, 2, 7, 0.683, 0.683),
    "tolokers": (11758, 519000, 2, 10, 0.595, 0.634),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_counts_equal_the_published_ones(name: str, root: Path, cache_dir: Path) -> None:
    raw = root / DATASETS[name].raw
    before = {path: file_sha256(path) for path in sorted(raw.rglob("*"))}
    row = statistics(name, root, cache_dir=cache_dir)
    nodes, edges, classes, features, edge_homophily, node_homophily = PUBLISHED[name]
    assert row["present"]
    assert (row["num_nodes"], row["num_edges"], row["num_classes"], row["num_features"]) == (
        nodes,
        edges,
        classes,
        features,
    )
    assert row["edge_homophily"] == pytest.approx(edge_homophily, abs=0.002)
    assert row["node_homophily"] == pytest.approx(node_homophily, abs=0.002)
    assert {path: file_sha256(path) for path in sorted(raw.rglob("*"))} == before


def test_the_two_cornells_differ_and_one_is_texas(root: Path, cache_dir: Path) -> None:
    texas, cornell, corrected = (
        load_graph(n, root, cache_dir=cache_dir) for n in ("texas", "cornell", "cornell-corrected")
    )
    assert torch.equal(texas.x, cornell.x)
    assert not torch.equal(corrected.x, cornell.x)


def test_stored_splits(root: Path, cache_dir: Path) -> None:
    cora = load("cora", root, cache_dir=cache_dir)
    public = cora.split("public")
    assert (len(public.train), len(public.val), len(public.test)) == (140, 500, 1000)
    sizes = {tuple(len(getattr(s, p)) for p in ("train", "val", "test")) for s in cora.stored["geom-gcn"]}
    assert len(cora.stored["geom-gcn"]) == 10
    assert all(abs(train / 2708 - 0.44) < 0.02 for train, _, _ in sizes)
    assert len(load("minesweeper", root, cache_dir=cache_dir).stored["official"]) == 10
    with pytest.raises(InputError, match="10 repetitions; number 10 does not exist"):
        cora.split("geom-gcn", index=10)
    with pytest.raises(InputError, match="Unknown split of data set 'cora' 'random'; known"):
        cora.split("random")


def test_load_dataset_gives_masks(root: Path, cache_dir: Path) -> None:
    data = load_dataset("texas", root=root, cache_dir=cache_dir, split="per-class-60-20-20", index=1)
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask])
    assert masks.shape == (3, 183)
    assert masks.sum(0).tolist() == [1] * 183


def test_a_changed_raw_file_is_refused_before_it_is_read(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "Cora", tmp_path / "root" / "Cora", copy_function=shutil.copyfile)
    target = tmp_path / "root" / "Cora" / "raw" / "ind.cora.graph"
    target.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(InputError, match=r"ind.cora.graph is not the published file.*--allow-changed-data"):
        load("cora", tmp_path / "root", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.pt"))


def test_allow_changed(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "texas", tmp_path / "root" / "texas", copy_function=shutil.copyfile)
    path = tmp_path / "root" / "texas" / "raw" / "out1_graph_edges.txt"
    path.write_text("\n".join(path.read_text().splitlines()[:-20]) + "\n")
    changed = load("texas", tmp_path / "root", cache_dir=tmp_path / "cache", allow_changed=True)
    assert changed.graph.num_edges < 279


def test_absent_files_say_where_and_how(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ind.cora.x does not exist; put the raw files there.*--download"):
        load("cora", tmp_path, cache_dir=tmp_path)
    assert not statistics("cora", tmp_path)["present"]
    with pytest.raises(InputError, match="Unknown data set 'cara'; known: actor,"):
        load("cara")


def test_ogb_layout(tmp_path: Path) -> None:
    folder = tmp_path / "ogbn_arxiv"
    content = {
        "raw/num-node-list.csv.gz": "5\n",
        "raw/edge.csv.gz": "0,1\n1,2\n3,4\n",
        "raw/node-feat.csv.gz": "\n".join(f"{i}.5,-{i}" for i in range(5)) + "\n",
        "raw/node-label.csv.gz": "0\n1\n2\n0\nnan\n",
        "split/time/train.csv.gz": "0\n1\n",
        "split/time/valid.csv.gz": "2\n",
        "split/time/test.csv.gz": "3\n",
    }
    for name, text in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(gzip.compress(text.encode()))
    for _ in range(2):  # parsed, then from the cache
        dataset = load("ogbn-arxiv", tmp_path, cache_dir=tmp_path / "cache")
        assert dataset.graph.edge_index.tolist() == [[0, 1, 1, 2, 3, 4], [1, 0, 2, 1, 4, 3]]
        assert dataset.graph.y.tolist() == [0, 1, 2, 0, -1]
        assert dataset.graph.x[3].tolist() == [3.5, -3.0]
        split = dataset.split()
        assert (split.name, split.train.tolist(), split.val.tolist(), split.test.tolist()) == (
            "official",
            [0, 1],
            [2],
            [3],
        )


@pytest.mark.parametrize("homophily", [0.05, 0.25, 0.75, 1.0])
def test_newman_has_the_asked_properties(homophily: float) -> None:
    graphs = [Graph.from_data(newman_network(homophily, seed)) for seed in range(10)]
    assert graphs[0].num_nodes == 128
    assert graphs[0].num_features == 200
    assert torch.bincount(graphs[0].y).tolist() == [32] * 4
    assert np.mean([g.edge_homophily() for g in graphs]) == pytest.approx(homophily, abs=0.02)
    assert np.mean([g.degree.mean() for g in graphs]) == pytest.approx(16, rel=0.03)
    own = np.mean([g.x[:32, :50].mean() for g in graphs])
    other = np.mean([g.x[:32, 50:].mean() for g in graphs])
    assert own == pytest.approx(12 / 50, rel=0.05)
    assert other == pytest.approx(4 / 150, rel=0.1)


def test_newman_by_name() -> None:
    assert load("newman").graph.content_hash == load("newman-0.75").graph.content_hash
    assert load("newman-0.25").graph.edge_homophily() < 0.4
    assert load("newman", homophily=0.1, seed=3).graph.edge_homophily() < 0.2
    for name, message in {"newman-high": "newman-<homophily>", "newman-1.5": r"in \[0, 1\]"}.items():
        with pytest.raises(InputError, match=message):
            load(name)


def own_graph(tmp_path: Path, suffix: str, **changes: object) -> Path:
    values = {
        "x": np.eye(6),
        "edge_index": np.array([[0, 1, 2, 3], [1, 2, 3, 4]]),
        "y": np.array([0, 1, 0, 1, 0, 1]),
    }
    values |= changes  # type: ignore[arg-type]
    path = tmp_path / f"mine{suffix}"
    if suffix == ".npz":
        np.savez(path, **values)  # type: ignore[arg-type]
    else:
        torch.save(Data(**{k: torch.as_tensor(v) for k, v in values.items()}), path)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".pt"])
def test_own_graph(tmp_path: Path, suffix: str) -> None:
    masks = {f"{part}_mask": np.arange(6) // 2 == i for i, part in enumerate(("train", "val", "test"))}
    dataset = load(str(own_graph(tmp_path, suffix, **masks)))
    assert dataset.graph.num_edges == 4
    assert dataset.split().val.tolist() == [2, 3]
    assert load(str(own_graph(tmp_path, suffix))).split().name == "uniform-60-20-20"


def test_own_graph_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        load(str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("no zip")
    (tmp_path / "text.pt").write_text("no torch file")
    for name in ("text.npz", "text.pt"):
        with pytest.raises(InputError, match="Cannot read the graph file"):
            load(str(tmp_path / name))
    np.savez(tmp_path / "partial.npz", x=np.eye(2))
    with pytest.raises(InputError, match="no field 'edge_index'"):
        load(str(tmp_path / "partial.npz"))
    with pytest.raises(InputError, match=r"'train_mask' of .* must have shape \[6\]"):
        load(str(own_graph(tmp_path, ".npz", train_mask=np.ones(3, dtype=bool))))
    overlapping = {f"{part}_mask": np.ones(6, dtype=bool) for part in ("train", "val", "test")}
    with pytest.raises(InputError, match="both train and val"):
        load(str(own_graph(tmp_path, ".npz", **overlapping)))


def test_a_pickle_in_a_pt_file_is_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (str(tmp_path / "pwned"),))

    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(InputError, match="Cannot read"):
        load(str(tmp_path / "evil.pt"))
    assert not (tmp_path / "pwned").exists()


def test_the_table_is_complete() -> None:
    nine = {"cora", "citeseer", "pubmed", "chameleon", "squirrel", "actor", "texas", "cornell", "wisconsin"}
    others = {
        "cornell-corrected",
        "photo",
        "computers",
        "cs",
        "physics",
        "dblp",
        "minesweeper",
        "tolokers",
        "facebook",
    }
    assert set(DATASETS) == nine | others | {"ogbn-arxiv", "ogbn-products", "newman"}
