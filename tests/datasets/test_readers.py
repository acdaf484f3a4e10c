"""Readers of raw files: both Cornells by PyG, OGB's layout by our own."""

import gzip
from pathlib import Path

import pytest
import torch

from ansgt.datasets import load, load_graph, readers
from ansgt.errors import InputError


def test_the_two_cornells_differ_and_one_is_texas(root: Path, cache_dir: Path) -> None:
    texas, cornell, corrected = (
        load_graph(n, root, cache_dir=cache_dir) for n in ("texas", "cornell", "cornell-corrected")
    )
    assert torch.equal(texas.x, cornell.x)
    assert not torch.equal(corrected.x, cornell.x)


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


def test_ogb_files_that_contradict_each_other(tmp_path: Path) -> None:
    raw = tmp_path / "ogbn_arxiv" / "raw"
    raw.mkdir(parents=True)
    for name, text in {
        "num-node-list": "5\n",
        "edge": "0,1\n",
        "node-feat": "1.0\n2.0\n",
        "node-label": "0\n1\n",
    }.items():
        (raw / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match="num-node-list says 5 nodes, features 2, labels 2"):
        readers.ogb(tmp_path, "ogbn_arxiv")
    (raw / "edge.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match=r"Cannot read .*edge.csv.gz"):
        readers.ogb(tmp_path, "ogbn_arxiv")
