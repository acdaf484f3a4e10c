"""A user's own file: which combinations of masks mean what."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from ansgt.datasets import custom, load
from ansgt.datasets.custom import write_graph
from ansgt.errors import InputError
from ansgt.testing import random_graph


def stored(tmp_path: Path, *parts: str) -> str:
    masks = {
        f"{part}_mask": np.arange(9) // 3 == i
        for i, part in enumerate(("train", "val", "test"))
        if part in parts
    }
    path = tmp_path / "g.npz"
    np.savez(path, x=np.eye(9), edge_index=np.array([[0, 1], [1, 2]]), y=np.arange(9) % 3, **masks)
    return str(path)


def test_two_masks_leave_nothing_to_test_on(tmp_path: Path) -> None:
    split = load(stored(tmp_path, "train", "val")).split()
    assert (split.name, split.train.tolist(), split.test.tolist()) == ("given", [0, 1, 2], [])


@pytest.mark.parametrize("parts", [("train",), ("val",), ("test",), ("train", "test"), ("val", "test")])
def test_other_combinations_are_refused(tmp_path: Path, parts: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="but not"):
        load(stored(tmp_path, *parts))


def graph_with_features_beside(tmp_path: Path, features: np.ndarray, **more: np.ndarray) -> Path:
    path = tmp_path / "g.npz"
    np.savez(path, edge_index=np.array([[0, 1], [1, 2]]), y=np.arange(9) % 3, **more)
    np.save(tmp_path / "g.x.npy", features)
    return path


FEATURES = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


def test_features_beside_a_graph_are_mapped(tmp_path: Path) -> None:
    path = graph_with_features_beside(tmp_path, FEATURES)
    graph = load(path).graph
    np.testing.assert_array_equal(graph.x.numpy(), FEATURES)
    with (tmp_path / "g.x.npy").open("r+b") as stream:  # a mapped tensor shows what is in the file now
        stream.seek(-4, 2)
        stream.write(np.float32(7).tobytes())
    assert graph.x[8, 3] == 7


@pytest.mark.parametrize("kind", ["f2", "f8", ">f4", "i8", "u1", "u4", "?", "fortran"])
def test_features_beside_of_any_kind_are_the_same_numbers(kind: str, tmp_path: Path) -> None:
    x = np.asfortranarray(FEATURES) if kind == "fortran" else np.abs(10 * FEATURES).astype(kind)
    graph = load(graph_with_features_beside(tmp_path, x)).graph
    np.testing.assert_array_equal(graph.x.numpy(), x.astype(np.float32))


@pytest.mark.parametrize(
    ("x", "more", "sentence"),
    [
        (FEATURES[:8], {}, r"'y' must have shape \[8\]"),
        (FEATURES[0], {}, "two dimensions"),
        (np.array(["a"] * 9), {}, "must hold numbers"),
        (np.array([None] * 9), {}, "cannot be read"),
        (
            np.where(np.eye(9, 4) * np.arange(9)[:, None] > 1, np.nan, FEATURES),
            {},
            "nan at node 2, feature 2",
        ),
        (FEATURES + 1j, {}, "must hold numbers"),
        (FEATURES, {"x": FEATURES}, "g.x.npy lies beside it"),
        (FEATURES, {"x_data": FEATURES}, "g.x.npy"),
    ],
)
def test_features_beside_that_do_not_fit_are_refused(
    x: np.ndarray, more: dict[str, np.ndarray], sentence: str, tmp_path: Path
) -> None:
    if "x_data" in more:
        more = {"x_data": np.ones(9), "x_indices": np.arange(9), "x_indptr": np.arange(10)}
        more["x_shape"] = np.array([9, 9])
    with pytest.raises(InputError, match=sentence):
        load(graph_with_features_beside(tmp_path, x, **more))


@pytest.mark.parametrize("harm", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\x10\x00{'descr': 1}    "])
def test_a_damaged_file_of_features_is_a_sentence(harm: bytes, tmp_path: Path) -> None:
    path = graph_with_features_beside(tmp_path, FEATURES)
    (tmp_path / "g.x.npy").write_bytes(harm)
    with pytest.raises(InputError, match="'x' cannot be read from"):
        load(path)


def test_a_file_of_features_that_is_too_short_is_a_sentence(tmp_path: Path) -> None:
    path = graph_with_features_beside(tmp_path, FEATURES)
    (tmp_path / "g.x.npy").write_bytes((tmp_path / "g.x.npy").read_bytes()[:-10])
    with pytest.raises(InputError, match="'x' cannot be read from"):
        load(path)


def test_a_graph_is_written_with_its_features_beside(tmp_path: Path) -> None:
    graph = random_graph()
    write_graph(tmp_path / "one.npz", graph, features_beside=True)
    again = load(tmp_path / "one.npz").graph
    assert again.content_hash == graph.content_hash
    assert "x" not in np.load(tmp_path / "one.npz").files


MAPPED = """
    import resource, sys
    from ansgt.datasets import load
    held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + (300 << 20),) * 2)
    graph = load(sys.argv[1]).graph
    print(graph.x.shape, float(graph.x[30_000, 3]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_large_features_open_without_room_for_them(tmp_path: Path) -> None:
    """Half a gigabyte of features, in a file with holes, in a process that may take 300 MB more for itself."""
    features = np.lib.format.open_memmap(
        tmp_path / "g.x.npy", mode="w+", dtype=np.float32, shape=(40_000, 3200)
    )
    features[30_000, 3] = 5
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0, 1], [1, 2]]), y=np.arange(40_000) % 3)
    command = [sys.executable, "-c", textwrap.dedent(MAPPED), str(tmp_path / "g.npz")]
    environment = {**os.environ, "PYTHONPATH": str(Path(custom.__file__).parents[2])}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.stdout.strip() == "torch.Size([40000, 3200]) 5.0", done.stderr
