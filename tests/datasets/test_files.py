"""Names of graphs on disk."""

from pathlib import Path

import pytest

from ansgt.datasets.files import absolute, graph_name, is_graph_path, read_tables
from ansgt.errors import InputError


def test_a_folder_is_a_graph_if_it_holds_edges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cora").mkdir()
    assert not is_graph_path("cora")
    assert is_graph_path(str(tmp_path / "cora"))  # with a slash it can be nothing else
    with pytest.raises(InputError, match=r"no table of edges: name it edges\.csv"):
        read_tables(str(tmp_path / "cora"))
    Path("cora/edges.csv.gz").touch()
    Path("cora/nodes.parquet").touch()
    assert is_graph_path("cora")
    assert read_tables("cora") == [Path("cora/edges.csv.gz"), Path("cora/nodes.parquet"), None]


def test_tables_between_commas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_tables("a.csv, b.parquet") == [Path("a.csv"), Path("b.parquet")]
    assert read_tables("mine.npz") is None
    assert absolute("a.csv, b.csv") == f"{tmp_path}/a.csv,{tmp_path}/b.csv"
    Path("a,b.csv").touch()
    assert read_tables("a,b.csv") == [Path("a,b.csv")]  # a file with a comma in its name
    assert graph_name("x/edges.csv.gz,y.csv") == "edges"
    with pytest.raises(InputError, match="each in"):
        read_tables("a.csv,b.npz")
