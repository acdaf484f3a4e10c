"""The table of predictions, by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ansgt.errors import InputError
from ansgt.names import Names
from ansgt.runs.folder import open_run
from ansgt.runs.predictions import Predictions, check_target

PROBABILITIES = np.array([[0.25, 0.75], [1.0, 0.0]], dtype=np.float32)
PLAIN = Predictions(PROBABILITIES, np.array([1, -1]))
NAMED = Predictions(
    PROBABILITIES, np.array([1, -1]), Names(['a "b", c', "d", 7]), Names(["cat", "dog"]), np.array([2, 0])
)


def test_csv_without_names(tmp_path: Path) -> None:
    PLAIN.write(tmp_path / "p.csv")
    assert (tmp_path / "p.csv").read_text() == "node,prediction,label,p0,p1\n0,1,1,0.25,0.75\n1,0,-1,1,0\n"


def test_csv_with_names(tmp_path: Path) -> None:
    NAMED.write(tmp_path / "p.csv")
    expected = 'node,prediction,label,p_cat,p_dog\n7,dog,dog,0.25,0.75\n"a ""b"", c",cat,,1,0\n'
    assert (tmp_path / "p.csv").read_text() == expected


def test_npz_holds_texts_and_no_objects(tmp_path: Path) -> None:
    NAMED.write(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz", allow_pickle=False) as arrays:
        assert arrays["node"].tolist() == ["7", 'a "b", c']
        assert arrays["classes"].tolist() == ["cat", "dog"]
        assert np.array_equal(arrays["probabilities"], PROBABILITIES)
        assert arrays["prediction"].tolist() == [1, 0]


def test_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    NAMED.write(tmp_path / "p.parquet")
    assert parquet.read_table(tmp_path / "p.parquet").to_pydict() == {
        "node": ["7", 'a "b", c'],
        "prediction": ["dog", "cat"],
        "label": ["dog", None],
        "p_cat": [0.25, 1.0],
        "p_dog": [0.75, 0.0],
    }


def test_some_nodes_and_the_first_class_by_its_name() -> None:
    assert PLAIN.of(["1"]).table() == {
        "node": [1],
        "prediction": [0],
        "label": [-1],
        "p0": [1.0],
        "p1": [0.0],
    }
    named = replace(NAMED, label=np.array([0, -1]), nodes=None)
    assert named.table()["label"] == ["cat", None]
    assert named.of(["d"]).table()["node"] == ["d"]
    assert named.of(["d"]).table()["p_cat"] == [1.0]


def test_what_a_record_has_of_its_first_split(tiny_run: Path) -> None:
    run = open_run(tiny_run)
    first, second = (run.split(number).predictions()["probabilities"] for number in (0, 1))
    assert np.array_equal(Predictions.stored(run).probabilities, first)
    assert np.array_equal(Predictions.stored(run, 1).probabilities, second)
    assert not np.array_equal(first, second)


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not to 'p"):
        PLAIN.write(tmp_path / "p.txt")


def test_neither_a_record_nor_the_graph_is_written_over(tmp_path: Path) -> None:
    for name in ("result.json", "g.npz", "edges.csv", "other.csv"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match="lies in the record of a split"):
        check_target(tmp_path / "predictions.npz")
    (tmp_path / "result.json").unlink()
    for graph in (tmp_path, f"{tmp_path}/edges.csv,{tmp_path}/features.csv"):
        with pytest.raises(InputError, match=r"--predictions .* is part of the graph"):
            check_target(tmp_path / "edges.csv", "--predictions", graph)
    with pytest.raises(InputError, match="is part of the graph"):
        check_target(tmp_path / "g.npz", graph=tmp_path / "." / "g.npz")
    for fine in ("other.csv", "new.npz"):
        assert check_target(tmp_path / fine, graph=tmp_path).name == fine
    for other in (None, "newman"):
        assert check_target(Path("edges.csv"), graph=other) == Path("edges.csv")
