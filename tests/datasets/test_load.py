"""Loading by name and by path: generated networks, own graphs, and files that are not what they claim to be."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ansgt.datasets import load, load_dataset
from ansgt.errors import InputError


def test_load_dataset_gives_masks(root: Path, cache_dir: Path) -> None:
    data = load_dataset("texas", root=root, cache_dir=cache_dir, split="per-class-60-20-20", index=1)
    masks = torch.stack([data.train_mask, data.val_mask, data.test_mask])
    assert masks.shape == (3, 183)
    assert masks.sum(0).tolist() == [1] * 183


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
    with pytest.raises(InputError, match=r"'train_mask' must have shape \[6\]"):
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
