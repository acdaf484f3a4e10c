"""Numbers that come from outside, against numpy and scipy, and the sentences that refuse the others."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import ansgt
from ansgt import arrays
from ansgt.arrays import brief_repr, check_room, csr_of, mapped, numbers, truth_mask, unfinite
from ansgt.errors import InputError

CSR = sp.random_array((5, 7), density=0.4, rng=np.random.default_rng(0), format="csr")


@pytest.mark.parametrize("dtype", ["uint16", "uint64", ">f4", "float16", "longdouble", "bool", "int8"])
def test_numbers_of_every_kind_keep_their_values(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3)[:, ::-1].astype(dtype)
    assert np.array_equal(numbers("x", array).numpy().astype(np.float64), array.astype(np.float64))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([1j]), "holds complex numbers"),
        (np.array(["a"]), "must hold numbers, not <U1"),
        (np.array([2**64 - 1], dtype=np.uint64), "too large for a 64-bit integer"),
        ([[1, 2], [3]], "is not an array of numbers"),
        (torch.quantize_per_tensor(torch.eye(2), 0.1, 0, torch.qint8), "must be a plain tensor"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        numbers("x", value)


def test_a_mapped_array_is_read_where_it_lies(tmp_path: Path) -> None:
    array = np.random.default_rng(0).random((4, 3), dtype=np.float32)
    for name, stored in (
        ("plain", array),
        ("swapped", array.astype(">f4")),
        ("columns", np.asfortranarray(array)),
    ):
        np.save(tmp_path / f"{name}.npy", stored)
        assert np.array_equal(mapped("x", tmp_path / f"{name}.npy").numpy(), array), name
    np.save(tmp_path / "texts.npy", np.array(["a"]))
    with pytest.raises(InputError, match="must hold numbers"):
        mapped("x", tmp_path / "texts.npy")
    np.savez(tmp_path / "archive.npz", x=array)
    (tmp_path / "archive.npz").rename(tmp_path / "archive.npy")
    with pytest.raises(InputError, match="is an archive, not one array"):
        mapped("x", tmp_path / "archive.npy")
    with pytest.raises(InputError, match="cannot be read from"):
        mapped("x", tmp_path / "absent.npy")


@pytest.mark.parametrize("block", [1, 2, 100])
def test_the_first_number_that_is_not_finite_is_found_in_any_block(block: int) -> None:
    values = torch.zeros(3, 3)
    assert unfinite(values, block) is None
    values[1, 2], values[2, 0] = torch.inf, torch.nan
    assert unfinite(values, block) == 5


def test_more_than_is_free_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "available_bytes", lambda device: 2**30)
    check_room("x", 2**30)
    with pytest.raises(InputError, match=r"Field 'x' needs 2\.0 GiB, but 1\.0 GiB are free"):
        check_room("x", 2**31)


def test_masks_are_truth_values_per_node() -> None:
    assert truth_mask("m", [0, 1, 1], 3).tolist() == [False, True, True]
    assert truth_mask("m", np.eye(3, 2), 3).shape == (3, 2)
    for wrong, message in (([0, 1], r"must have shape \[3\]"), ([0, 1, 2], "true or false per node")):
        with pytest.raises(InputError, match=message):
            truth_mask("m", wrong, 3)


def test_a_matrix_from_its_parts() -> None:
    found = csr_of("x", CSR.data, CSR.indices, CSR.indptr, CSR.shape)
    assert np.array_equal(found.toarray(), CSR.toarray())
    twice = csr_of("x", [1.0, 2.0], [3, 3], [0, 2], [1, 4])  # the same place twice: their sum
    assert twice.toarray().tolist() == [[0, 0, 0, 3]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": CSR.indices - 7}, "names column -"),
        ({"indices": CSR.indices + 7}, "but it has 7 columns"),
        ({"indptr": CSR.indptr[::-1]}, "must be 6 numbers from 0"),
        ({"indptr": [0, 9, 1, 2, 3, CSR.nnz]}, "must not decrease"),
        ({"data": CSR.data[1:]}, "values of shape"),
        ({"shape": [5]}, "must be two sizes"),
        ({"shape": [5, 2**62]}, "larger than any matrix"),
        ({"indices": CSR.indices.astype(float)}, "must be a list of integers"),
    ],
)
def test_parts_that_would_read_foreign_memory_are_refused(change: dict[str, Any], message: str) -> None:
    parts = {"data": CSR.data, "indices": CSR.indices, "indptr": CSR.indptr, "shape": CSR.shape} | change
    with pytest.raises(InputError, match=message):
        csr_of("x", **parts)


def dataclasses_with_arrays() -> list[tuple[str, ast.ClassDef]]:
    """File and definition of every dataclass of the package that has a field with an array in it."""
    found = []
    for path in sorted(Path(ansgt.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and any(
                "dataclass" in ast.unparse(d) for d in node.decorator_list
            ):
                kinds = [ast.unparse(one.annotation) for one in node.body if isinstance(one, ast.AnnAssign)]
                if any(
                    re.search("Tensor|ndarray|csr_array", kind) and "Callable" not in kind for kind in kinds
                ):
                    found.append((path.name, node))
    return found


def test_whatever_holds_arrays_is_shown_on_one_line() -> None:
    found = dataclasses_with_arrays()
    assert len(found) > 25
    assert [(file, node.name) for file, node in found if "__repr__" not in ast.unparse(node)] == []


@dataclass
class Shown:
    dense: Any
    __repr__ = brief_repr


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (torch.zeros(3, 4, dtype=torch.int32), "int32[3, 4]"),
        (torch.eye(3).to_sparse_csr(), "sparse_csr float32[3, 3]"),
        (np.zeros(1000), "float64[1000]"),
        (sp.csr_array((5, 6)), "sparse_csr float64[5, 6]"),
        ({"a": [torch.zeros(2)] * 9}, "{'a': list of 9}"),
        (dict.fromkeys(range(40)), "dict of 40"),
        (["1-hop", "knn"], "['1-hop', 'knn']"),
        (None, "None"),
    ],
)
def test_how_a_field_is_shown(value: Any, words: str) -> None:
    assert repr(Shown(value)) == f"Shown(dense={words})"
