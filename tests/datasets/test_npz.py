"""Graph files of strangers: every defect that was known, each one sentence with the file and the field."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from ansgt.datasets import load
from ansgt.errors import InputError
from ansgt.graph import Graph

NUM = 6
MASKS = {f"{part}_mask": np.arange(NUM) // 2 == i for i, part in enumerate(("train", "val", "test"))}
GOOD: dict[str, Any] = {
    "x": np.eye(NUM, 3),
    "edge_index": np.array([[0, 1, 2, 3], [1, 2, 3, 4]]),
    "y": np.arange(NUM) % 2,
}
CSR: dict[str, Any] = {
    "x_data": np.ones(NUM),
    "x_indices": np.arange(NUM) % 3,
    "x_indptr": np.arange(NUM + 1),
    "x_shape": np.array([NUM, 3]),
}
EDGES: dict[str, Any] = {"edge_index": GOOD["edge_index"], "y": GOOD["y"]}


def npz(tmp_path: Path, arrays: dict[str, Any]) -> Path:
    np.savez(tmp_path / "g.npz", **arrays)
    return tmp_path / "g.npz"


def refused(path: Path, *words: str) -> str:
    with pytest.raises(InputError) as caught:
        load(str(path))
    message = str(caught.value)
    assert len(message) < 600
    assert path.name in message
    for word in words:
        assert word in message
    return message


BAD_CSR: dict[str, dict[str, Any]] = {
    "column out of range": {"x_indices": np.array([0, 1, 2, 0, 1, 10**6])},
    "negative column": {"x_indices": np.array([0, 1, 2, 0, 1, -(10**6)])},
    "pointers end early": {"x_indptr": np.array([0, 1, 2, 3, 4, 5, 5])},
    "pointers end late": {"x_indptr": np.array([0, 1, 2, 3, 4, 5, 10**9])},
    "pointers decrease": {"x_indptr": np.array([0, 4, 2, 3, 4, 5, 6])},
    "pointers start late": {"x_indptr": np.array([1, 1, 2, 3, 4, 5, 6])},
    "too few pointers": {"x_indptr": np.array([0, 6])},
    "fewer values": {"x_data": np.ones(2)},
    "values in a table": {"x_data": np.ones((NUM, 1))},
    "columns that are no integers": {"x_indices": np.ones(NUM)},
    "negative shape": {"x_shape": np.array([-NUM, 3])},
    "three sizes": {"x_shape": np.array([NUM, 3, 1])},
    "no shape": {"x_shape": np.array(3)},
    "a shape beyond all memory": {"x_shape": np.array([10**15, 3])},
    "a width beyond all memory": {"x_shape": np.array([NUM, 10**15])},
    "NaN in the shape": {"x_shape": np.array([np.nan, 3])},
    "complex values": {"x_data": np.ones(NUM) * 1j},
}


@pytest.mark.parametrize("case", BAD_CSR)
def test_sparse_parts_are_checked_before_anything_follows_them(case: str, tmp_path: Path) -> None:
    refused(npz(tmp_path, {**CSR, **EDGES, **BAD_CSR[case]}))


def test_unsorted_and_repeated_places_mean_what_scipy_says(tmp_path: Path) -> None:
    parts = {
        "x_data": np.array([1.0, 2.0, 3.0, 4.0]),
        "x_indices": np.array([2, 0, 1, 1]),
        "x_indptr": np.array([0, 2, 4, 4, 4, 4, 4]),
        "x_shape": np.array([NUM, 3]),
    }
    graph = load(str(npz(tmp_path, {**parts, **EDGES}))).graph
    assert graph.x.to_dense()[:2].tolist() == [[2.0, 0.0, 1.0], [0.0, 7.0, 0.0]]


BAD_ARRAYS: dict[str, dict[str, Any]] = {
    "0-d features": {"x": np.array(1.0)},
    "0-d edges": {"edge_index": np.array(3)},
    "0-d labels": {"y": np.array(1)},
    "0-d mask": {**MASKS, "val_mask": np.array(True)},
    "complex features": {"x": GOOD["x"] * 1j},
    "objects": {"y": np.array([None] * NUM)},
    "dates": {"y": np.array(["2024-01-01"] * NUM, dtype="datetime64[D]")},
    "records": {"y": np.zeros(NUM, dtype=[("a", int)])},
    "infinite labels": {"y": np.array([0, 1, np.inf, 0, 1, 0])},
    "huge labels": {"y": np.array([0, 1, 1e30, 0, 1, 0])},
    "unsigned edges": {"edge_index": np.full((2, 1), 2**64 - 1, dtype=np.uint64)},
    "node numbers as mask": {**MASKS, "val_mask": np.array([0, 2, 3, 0, 0, 0])},
    "NaN as mask": {**MASKS, "val_mask": np.full(NUM, np.nan)},
    "a trillion nodes without features": {"x": np.zeros((10**12, 0))},
    "labels of other nodes": {"y": np.arange(5)},
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_arrays_of_another_kind_or_shape(case: str, tmp_path: Path) -> None:
    refused(npz(tmp_path, {**GOOD, **BAD_ARRAYS[case]}))


@pytest.mark.parametrize("kind", [">i4", ">i8", "<u2", "u1", "<u8"])
def test_integers_of_any_make_are_read(kind: str, tmp_path: Path) -> None:
    arrays = {key: GOOD[key].astype(kind) for key in ("edge_index", "y")}
    graph = load(str(npz(tmp_path, {"x": GOOD["x"].astype(">f4")[::-1, ::-1], **arrays}))).graph
    assert graph.num_edges == 4
    assert graph.y.tolist() == GOOD["y"].tolist()


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("train_masks", "train_mask"),
        ("val_masks", "val_mask"),
        ("valid_mask", "val_mask"),
        ("train_idx", "train_mask"),
        ("Test_Mask", "test_mask"),
        ("train_index", "train_mask"),
    ],
)
@pytest.mark.parametrize("suffix", [".npz", ".pt"])
def test_a_misspelt_mask_is_named(key: str, near: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"g{suffix}"
    values = {**GOOD, key: MASKS[near]}
    if suffix == ".npz":
        np.savez(path, **values)
    else:
        torch.save(Data(**{name: torch.as_tensor(value) for name, value in values.items()}), path)
    refused(path, repr(key), f"did you mean '{near}'")


def test_other_fields_beside_are_fine(tmp_path: Path) -> None:
    extra = {"train_idx": np.arange(2), "names": np.array(["a"]), "edge_attr": np.ones(4), "year": np.ones(6)}
    assert load(str(npz(tmp_path, {**GOOD, **MASKS, **extra}))).split().train.tolist() == [0, 1]


def test_labels_up_to_a_hundred_million_take_no_memory(tmp_path: Path) -> None:
    import tracemalloc

    path = npz(tmp_path, {**GOOD, "y": np.array([0, 10**8, 1, 0, 1, 0])})
    tracemalloc.start()
    assert load(str(path)).graph.y.tolist() == [0, 2, 1, 0, 1, 0]  # three classes, whatever they are called
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()


def crafted(path: Path, name: str, header: dict[str, Any], content: bytes = b"", flag: int = 0) -> Path:
    """An archive whose one array declares what it likes."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)  # type: ignore[arg-type]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for key in GOOD:
            one = io.BytesIO()
            np.save(one, GOOD[key])
            archive.writestr(f"{key}.npy", stream.getvalue() + content if key == name else one.getvalue())
    if flag:
        raw = bytearray(path.read_bytes())
        for start, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
            at = raw.find(start)
            raw[at + offset] |= flag
        path.write_bytes(raw)
    return path


def test_what_an_array_declares_is_checked_before_it_is_allocated(tmp_path: Path) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 100)}
    refused(crafted(tmp_path / "g.npz", "x", header), "'x'", "declares")
    header["shape"] = (-1, 3)
    refused(crafted(tmp_path / "g.npz", "x", header))
    header["shape"] = (6, 3)
    refused(crafted(tmp_path / "g.npz", "x", header, flag=1), "encrypted")


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": (2**26,)}
    path = crafted(tmp_path / "g.npz", "x", header, bytes(2**29))
    refused(path, "times its own length")


def test_a_mask_that_the_table_of_contents_misses(tmp_path: Path) -> None:
    """The entry before it claims to be longer: zipfile skips the mask without a word."""
    path = npz(tmp_path, {**GOOD, **MASKS})
    raw = bytearray(path.read_bytes())
    last = raw.rfind(b"PK\x01\x02")
    before = raw.rfind(b"PK\x01\x02", 0, last)
    raw[before + 32] = raw.rfind(b"PK\x05\x06") - last  # the length of a comment
    path.write_bytes(raw)
    with np.load(path) as arrays:
        assert "test_mask" not in arrays.files
    refused(path, "table of contents")


def test_an_archive_written_to_a_pipe(tmp_path: Path) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.content = b""

        def writable(self) -> bool:
            return True

        def write(self, part: Any) -> int:
            self.content += bytes(part)
            return len(part)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w") as archive:  # type: ignore[arg-type]
        for key in GOOD:
            one = io.BytesIO()
            np.save(one, GOOD[key])
            archive.writestr(f"{key}.npy", one.getvalue())
    (tmp_path / "g.npz").write_bytes(pipe.content)
    assert load(str(tmp_path / "g.npz")).graph.num_edges == 4


@pytest.mark.parametrize("suffix", [".npz", ".pt"])
def test_damaged_files(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"g{suffix}"
    if suffix == ".npz":
        np.savez_compressed(path, **GOOD)
    else:
        torch.save(Data(**{name: torch.as_tensor(value) for name, value in GOOD.items()}), path)
    whole = path.read_bytes()
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])
        refused(path)


BAD_DATA: dict[str, Any] = {
    "a list as mask": {**GOOD, **MASKS, "val_mask": [0, 3]},
    "text as mask": {**GOOD, **MASKS, "val_mask": "yes"},
    "integer keys": {1: torch.ones(2)},
    "no data": [1, 2],
    "None": None,
    "a number as features": {**GOOD, "x": 3},
    "a dict as features": {**GOOD, "x": {"a": 1}},
    "labels in a ragged list": {**GOOD, "y": [[1], [1, 2]]},
    "expanded labels": {**GOOD, "y": torch.zeros(1).expand(10**12)},
    "expanded features": {**GOOD, "x": torch.zeros(1, 1).expand(10**9, 10**3)},
    "quantized": {**GOOD, "x": torch.quantize_per_tensor(torch.eye(6, 3), 0.1, 0, torch.qint8)},
    "empty coo of a trillion": {**GOOD, "x": torch.sparse_coo_tensor(size=(10**12, 3))},
    "on no device": {**GOOD, "x": torch.empty(6, 3, device="meta")},
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_what_a_pt_file_may_hold(case: str, tmp_path: Path) -> None:
    values = BAD_DATA[case]
    if isinstance(values, dict) and "x" in values:
        values = {key: torch.as_tensor(v) if isinstance(v, np.ndarray) else v for key, v in values.items()}
    torch.save(values, tmp_path / "g.pt")
    refused(tmp_path / "g.pt")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_tensors_that_point_elsewhere(layout: str, tmp_path: Path) -> None:
    good = torch.eye(NUM, 3)
    x = {"csr": good.to_sparse_csr(), "csc": good.to_sparse_csc(), "coo": good.to_sparse_coo()}[layout]
    rest = {key: torch.as_tensor(GOOD[key]) for key in ("edge_index", "y")}
    torch.save(Data(x=x, **rest), tmp_path / "g.pt")
    assert torch.equal(load(str(tmp_path / "g.pt")).graph.x.to_dense(), good)
    index = {"csr": "col_indices", "csc": "row_indices", "coo": "_indices"}[layout]
    for wrong in (10**9, -(10**9)):
        getattr(x, index)().view(-1)[-1] = wrong
        with pytest.raises(InputError, match="names"):
            Graph.from_arrays(x, rest["edge_index"])
        torch.save(Data(x=x, **rest), tmp_path / "g.pt")
        refused(tmp_path / "g.pt")


class Bomb:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.target,))


def test_a_bomb_in_a_graph_file_never_runs(tmp_path: Path) -> None:
    bomb = Bomb(tmp_path / "pwned")
    np.savez(tmp_path / "a.npz", **{**GOOD, "y": np.array([bomb] * NUM)})
    (tmp_path / "b.npz").write_bytes(pickle.dumps(bomb))
    torch.save(bomb, tmp_path / "c.pt")
    torch.save({**GOOD, "x": bomb}, tmp_path / "d.pt")
    (tmp_path / "e.pt").write_bytes(pickle.dumps(bomb))
    for name in ("a.npz", "b.npz", "c.pt", "d.pt", "e.pt"):
        refused(tmp_path / name)
    assert not (tmp_path / "pwned").exists()


def test_places_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "folder.npz").mkdir()
    os.mkfifo(tmp_path / "pipe.npz")
    for name in ("folder.npz", "pipe.npz", "absent.pt"):
        refused(tmp_path / name)
    with pytest.raises(InputError):
        load(f"{'x' * 5000}.npz")
    with pytest.raises(InputError):
        load("a\0b.npz")


def test_paths_that_a_terminal_cannot_show(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff[/red]\x1b.npz")
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).isprintable()
    Path(path).parent.mkdir()
    Path(path).write_bytes(npz(tmp_path, GOOD).read_bytes())
    assert load(path).graph.num_nodes == NUM
