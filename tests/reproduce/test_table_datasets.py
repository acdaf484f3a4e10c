"""Table 3: what is counted, on the real files."""

from pathlib import Path

from ansgt.reproduce.records import Records
from ansgt.reproduce.table_datasets import CountTask, TableDatasets
from ansgt.reproduce.task import Setup
from ansgt.storage import write_json


def test_counts_of_texas(root: Path, tmp_path: Path, cache_dir: Path) -> None:
    record = CountTask("a", 1.0, "texas").measure(Setup(root, cache_dir), tmp_path)
    assert record["values"]["num_nodes"] == 183
    assert record["values"]["num_edges"] == 279
    assert record["values"]["edge_homophily"] < record["values"]["edge_homophily_with_loops"]
    assert record["data_variant"]


def test_the_printed_homophily_stands_beside_the_nearest_of_three(tmp_path: Path) -> None:
    for task in TableDatasets().tasks(Setup()):
        values = {"num_nodes": 1, "num_edges": 1, "num_classes": 1, "num_features": 1}
        shares = {"edge_homophily": 0.0, "edge_homophily_with_loops": 0.1, "node_homophily": 0.9}
        write_json(tmp_path / f"{task.path}.json", {"values": {**values, **shares}})
    table = TableDatasets().show(Records(tmp_path), Setup()).tables[1]
    beside = {row: column for row, column, number in table.numbers() if number.paper is not None}
    assert beside["texas"] == "with loops kept"  # 0.11
    assert beside["cora"] == "node homophily"  # 0.83
