"""`ansgt datasets`: the published counts, a root that stays as it was, and what is absent."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.cli.datasets import statistics
from ansgt.datasets.published import DATASETS
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


def test_what_is_absent_has_no_counts(tmp_path: Path) -> None:
    result = CliRunner().invoke(build_app(["datasets"]), ["datasets", "--root", str(tmp_path), "--json"])
    rows = {row["name"]: row for row in json.loads(result.stdout)["datasets"]}
    assert set(rows) == set(DATASETS)
    assert rows["newman"]["present"]
    assert rows["newman"]["num_nodes"] == 128
    assert not rows["cora"]["present"]
    assert rows["cora"]["num_nodes"] is None


def test_the_table_marks_what_is_absent(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        build_app(["datasets"]), ["datasets", "--root", str(tmp_path)], env={"COLUMNS": "200"}
    )
    lines = {line.split()[1]: line for line in result.stdout.splitlines() if line.startswith("│")}
    assert "128" in lines["newman"]
    assert "(absent)" in lines["cora"]
