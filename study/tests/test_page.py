"""The results page: computed from records, and up to date with those that are stored."""

import json
from pathlib import Path

import numpy as np
import pytest

from ansgt.config import upgraded
from ansgt.reproduce.paper import ACCURACY, NINE
from ansgt.reproduce.records import VARIANTS, read_cells
from study.records import KINDS, PAGE, RESULTS
from study.report.page import results_page


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
    folder.mkdir(exist_ok=True)
    (folder / f"{model}--cora--uniform-60-20-20.json").write_text(json.dumps(cell))


def test_numbers_by_hand(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    store(runs, "ansgt", [0.8, 0.9, 0.7])
    store(runs, "gcn", [0.7, 0.9, 0.5])
    store(runs, "mlp", [0.1, 0.1, 0.1], hashes="xyz")  # other splits: shown, never compared
    page = results_page(tmp_path, KINDS)
    assert "80.00 ± 8.16 (n=3)" in page
    assert "| cora | gcn | 1 : 1 | -10.00 |" in page
    assert "| cora | mlp |" not in page
    assert "1-hop 50, knn 50" in page
    assert "per-class" not in page.split("## uniform")[1]


def test_the_gaps_of_the_ablation(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    store(runs, "ansgt", [0.6, 0.6, 0.6])
    store(runs, "ansgt-fixed", [0.5, 0.5, 0.5])
    assert "| +10.00 | +10.00 | - | - | 1 |" in results_page(tmp_path, KINDS), (
        "singles are missing: no best of them"
    )
    for name in VARIANTS[1:]:
        store(runs, name, [0.6, 0.6, 0.63] if name == "ansgt-ppr" else [0.4, 0.4, 0.4])
    assert "| +10.00 | +10.00 | -1.00 | -1.00 | 1 |" in results_page(tmp_path, KINDS)


@pytest.mark.parametrize("key", ["models", "restarts"], ids=["today", "version 0.1"])
def test_several_models_are_marked_and_one_model_is_shown_beside(tmp_path: Path, key: str) -> None:
    runs = tmp_path / "runs"
    store(runs, "ansgt", [0.8, 0.9])
    store(runs, "gcn", [0.75, 0.75])
    assert "ansgt, one model" not in results_page(tmp_path, KINDS)
    path = runs / "ansgt--cora--uniform-60-20-20.json"
    cell = json.loads(path.read_text())
    for split, alone in zip(cell["splits"], ([0.6, 0.8], [0.7, 0.7]), strict=True):
        split[key] = [{"test_accuracy": a} for a in alone]
    path.write_text(json.dumps(cell))
    page = results_page(tmp_path, KINDS)
    assert "| ansgt | 85.00 ± 5.00 (n=2)† |" in page
    assert "| ansgt, one model | 70.00 ± 0.00 (n=2) |" in page
    assert "| gcn | 75.00 ± 0.00 (n=2) |" in page
    assert "(2 on cora)" in page
    assert "than ANS-GT: cora 0 of 1." in page
    store(runs, "ansgt-fixed", [0.72, 0.72])
    page = results_page(tmp_path, KINDS)
    assert "| +13.00 | -2.00 | - |" in page
    assert "Single models, on average: at worst -2.00 (cora); more than half a point below on cora." in page
    assert "With one model a split. Baselines with a higher mean than ANS-GT: cora 1 of 1." in page


def test_the_words_count_what_the_tables_show(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    store(runs, "ansgt", [0.8, 0.9, 0.7])
    store(runs, "gcn", [0.7, 0.9, 0.9])
    store(runs, "mlp", [0.1, 0.1, 0.1])
    store(runs, "ansgt-fixed", [0.81, 0.91, 0.71])
    page = results_page(tmp_path, KINDS)
    assert (
        f"At or above the paper's figure: none. Below: cora ({80 - ACCURACY['ansgt']['cora']:+.2f})." in page
    )
    assert "higher mean than ANS-GT: cora 1 of 2." in page
    assert "1 data sets: 0 above, at worst -1.00 (cora); more than half a point below on cora." in page
    assert "best single heuristic" not in page, "not before all four are there"


def test_both_precisions_are_paired(tmp_path: Path) -> None:
    store(tmp_path / "runs", "ansgt", [0.8, 0.9, 0.7])
    store(tmp_path / "float32", "ansgt", [0.81, 0.91, 0.69])
    assert "| cora | 80.00 ± 8.16 (n=3) | 80.33 ± 8.99 (n=3) | -0.33 |" in results_page(tmp_path, KINDS)


def test_the_papers_table_is_whole() -> None:
    assert len(ACCURACY) == 12
    assert all(set(row) == set(NINE) for row in ACCURACY.values())


def test_stored_records_are_sound_and_the_page_is_up_to_date() -> None:
    for kind in KINDS:
        for cell in read_cells(RESULTS / "runs", kind):
            assert len(set(cell.split_hashes)) == len(cell.per_split)
            assert 0 <= float(np.min(cell.per_split)) <= float(np.max(cell.per_split)) <= 1
    assert PAGE.read_text() == results_page(RESULTS, KINDS)


def test_a_row_of_the_ablation_differs_in_the_sampling_alone() -> None:
    for kind in KINDS:
        for dataset in NINE:
            folder = RESULTS / "runs"
            adaptive = _settings(folder / f"ansgt--{dataset}--{kind}.json")
            for name in VARIANTS:
                path = folder / f"{name}--{dataset}--{kind}.json"
                if path.exists():
                    assert _settings(path) == adaptive, path.name


def _settings(path: Path) -> dict[str, object]:
    """What two records must agree in. A setting that was not yet there when a record was made is off in later ones."""
    config = upgraded(json.loads(path.read_text())["config"])
    parts = {part: config[part] for part in ("settings", "optim", "train", "data")}
    given = {
        f"{part}.{name}": value
        for part, values in parts.items()
        for name, value in values.items()
        if name not in ("sampling", "compiled") and value is not None and value is not False
    }
    return {"train.num_models": 1, **given, "seed": config["seed"]}


def test_a_note_stands_before_the_tables(tmp_path: Path) -> None:
    store(tmp_path / "runs", "ansgt", [0.8, 0.9])
    without = results_page(tmp_path, KINDS)
    (tmp_path / "note.md").write_text("Trained on a Sunday.\n")
    page = results_page(tmp_path, KINDS)
    assert page.replace("Trained on a Sunday.\n\n", "") == without
    assert page.index("Trained on a Sunday.") < page.index("## uniform-60-20-20")
