"""Names and labels of every kind: what comes in is what comes back."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ansgt.errors import InputError
from ansgt.names import Labelling, Names, encoded_labels

KINDS = {
    "texts": (["b", "a", "b"], [1, 0, 1], ["a", "b"]),
    "a text array": (np.array(["b", "a", "b"]), [1, 0, 1], ["a", "b"]),
    "gaps": ([10, 3, 10], [1, 0, 1], [3, 10]),
    "floats that are whole": (np.array([1.0, 0.0, np.nan]), [1, 0, -1], None),
    "floats with gaps": ([5.0, 2.0, 5.0], [1, 0, 1], [2, 5]),
    "0..C-1": (torch.tensor([1, 0, 1]), [1, 0, 1], None),
    "None among texts": (["x", None, "y"], [0, -1, 1], ["x", "y"]),
    "NaN among texts": (["x", float("nan"), "y"], [0, -1, 1], ["x", "y"]),
    "-1 and None among numbers": ([0, None, -1], [0, -1, -1], None),
    "an empty text": (["x", "", " "], [0, -1, -1], ["x"]),
    "truth values": ([True, False, True], [1, 0, 1], [False, True]),
    "truth values and None": ([True, None, False], [1, -1, 0], [False, True]),
    "tuples": ([(1, 2), (0, 1), None], [1, 0, -1], [(0, 1), (1, 2)]),
    "numbers and texts": ([7, "x", 2], [1, 2, 0], [2, 7, "x"]),
    "a column": (np.array([[1], [0], [1]]), [1, 0, 1], None),
    "unsigned": (np.array([1, 0, 1], dtype=np.uint8), [1, 0, 1], None),
    "bytes": (np.array([b"v", b"u", b"v"]), [1, 0, 1], ["u", "v"]),
    "all unknown": ([None, None, None], [-1, -1, -1], None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_every_kind(kind: str) -> None:
    y, codes, names = KINDS[kind]
    found, num_classes, classes = encoded_labels(y, 3)
    assert found.tolist() == codes
    assert num_classes == len({code for code in codes if code >= 0})
    assert (None if classes is None else classes.values) == names


BAD = {
    "a quantity": ([0.5, 1.0, 2.0], r"holds 0.5.*pandas\.cut"),
    "several labels": (np.eye(3), "one classifier per column"),
    "another length": (["a"], r"shape \[3\]"),
    "below -1": ([-2, 0, 1], "label -2"),
    "lists": ([["a"], ["b"], ["c", "d"]], "one label per node"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_label_is_told_with_a_remedy(kind: str) -> None:
    y, message = BAD[kind]
    with pytest.raises(InputError, match=message):
        encoded_labels(y, 3)


def test_what_pandas_calls_missing() -> None:
    pandas = pytest.importorskip("pandas")
    for column in (
        pandas.Series(["b", None, "a"]),
        pandas.Series(["b", pandas.NA, "a"], dtype="string"),
        pandas.Series(["b", None, "a"], dtype="category"),
    ):
        found, _, classes = encoded_labels(column, 3)
        assert found.tolist() == [1, -1, 0]
        assert classes is not None
        assert classes.values == ["a", "b"]
    assert encoded_labels(pandas.Series([1, None, 0], dtype="Int64"), 3)[0].tolist() == [1, -1, 0]


name = st.one_of(
    st.text(max_size=8),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False),
    st.tuples(st.integers(), st.text(max_size=3)),
)


@given(st.lists(name, unique=True, max_size=12))
def test_names_survive_a_file(values: list[object]) -> None:
    names = Names(values)
    stored = Labelling(nodes=names, columns={"a": [1]}).packed()
    again = Labelling.unpacked(stored)
    assert again.nodes == names
    assert [type(value) for value in again.nodes.values] == [type(value) for value in values]  # type: ignore[union-attr]
    assert (again.classes, again.columns) == (None, {"a": [1]})
    assert names.find(values).tolist() == list(range(len(values)))


def test_names_are_distinct_and_hashable() -> None:
    with pytest.raises(InputError, match="node 'a' is named twice"):
        Names(["a", "b", "a"])
    with pytest.raises(InputError, match="must be hashable"):
        Names([["a"]])  # type: ignore[list-item]


def test_a_text_finds_the_number_that_is_written_like_it() -> None:
    names = Names([10, "x", (1, 2)])
    assert names.find(["10", "(1, 2)", np.int64(10)]).tolist() == [0, 2, 0]


@pytest.mark.parametrize(
    "stored", [np.zeros(3, dtype=np.uint8), np.zeros(3), np.frombuffer(b"[1]", np.uint8)]
)
def test_damaged_names_are_refused(stored: np.ndarray) -> None:
    with pytest.raises(InputError, match="damaged"):
        Labelling.unpacked(stored)
