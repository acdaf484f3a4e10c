"""The results page: computed from records, and up to date with those that are stored."""

import json
from pathlib import Path

import numpy as np

from ansgt.report.paper import ACCURACY, NINE
from ansgt.report.tables import read_cells, results_page

ROOT = Path(__file__).parents[2]
KINDS = ("uniform-60-20-20", "per-class-60-20-20")


def store(folder: Path, model: str, accuracies: list[float], hashes: str = "abc") -> None:
    splits = [
        {
            "index": i,
            "test_accuracy": a,
            "val_accuracy": a,
            "seconds": 1.0,
            "split_hash": hashes[i],
            "p": [0.5, 0.5],
        }
        for i, a in enumerate(accuracies)
    ]
    cell = {
        "model": model,
        "dataset": "cora",
        "data_variant": "Planetoid",
        "num_parameters": 3,
        "splits": splits,
    }
    cell["heuristics"] = ["1-hop", "knn"]
    (folder / f"{model}--cora--uniform-60-20-20.json").write_text(json.dumps(cell))


def test_numbers_by_hand(tmp_path: Path) -> None:
    store(tmp_path, "ansgt", [0.8, 0.9, 0.7])
    store(tmp_path, "gcn", [0.7, 0.9, 0.5])
    store(tmp_path, "mlp", [0.1, 0.1, 0.1], hashes="xyz")  # other splits: shown, never compared
    page = results_page(tmp_path, KINDS)
    assert "80.00 ± 8.16 (n=3)" in page
    assert "| cora | gcn | -10.00 |" in page
    assert "| cora | mlp |" not in page
    assert "1-hop 50, knn 50" in page
    assert "per-class" not in page.split("## uniform")[1]


def test_the_papers_table_is_whole() -> None:
    assert len(ACCURACY) == 12
    assert all(set(row) == set(NINE) for row in ACCURACY.values())


def test_stored_records_are_sound_and_the_page_is_up_to_date() -> None:
    for kind in KINDS:
        for cell in read_cells(ROOT / "results" / "runs", kind):
            assert len(set(cell.split_hashes)) == len(cell.per_split)
            assert 0 <= float(np.min(cell.per_split)) <= float(np.max(cell.per_split)) <= 1
    assert (ROOT / "docs" / "results.md").read_text() == results_page(ROOT / "results" / "runs", KINDS)
