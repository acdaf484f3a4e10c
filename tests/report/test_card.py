"""The model card says what the record says, and what nobody knows."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import ansgt
from ansgt.errors import InputError
from ansgt.report.card import model_card
from ansgt.runs.folder import RunFolder


def test_numbers_of_the_record(tiny_run: Path) -> None:
    card = model_card(RunFolder(tiny_run))
    results = RunFolder(tiny_run).results()
    mean = np.mean([result["test_accuracy"] for result in results])
    assert f"accuracy {100 * mean:.2f} %" in card
    assert "over 2 splits" in card
    assert json.loads((tiny_run / "run.json").read_text())["data_hash"] in card
    assert "## What it was not tested on" in card
    assert "Other graphs than 'newman'" in card
    assert "Other splits" not in card
    assert card.startswith("---\nlibrary_name: ")


def test_what_was_not_tested(tmp_path: Path) -> None:
    data = ansgt.load_dataset("newman")
    data.y = torch.where(torch.arange(128) % 5 == 0, -1, data.y)
    data.y[:2] = 4  # a class of two nodes
    data.test_mask &= data.y >= 0
    data.train_mask[:2] = True
    data.val_mask[:2] = data.test_mask[:2] = False
    clf = ansgt.NodeClassifier("mlp", epochs=2, device="cpu").fit(data)
    clf.save(tmp_path / "m")
    card = model_card(RunFolder(tmp_path / "m"))
    assert "Other splits: the numbers are of one" in card
    assert "Classes with fewer than 10 scored nodes: " in card
    assert f"The {int((data.y < 0).sum())} of 128 nodes without a label" in card
    del data.test_mask
    data.train_mask = data.val_mask = None
    ansgt.NodeClassifier("mlp", epochs=2, device="cpu").fit(data).save(tmp_path / "v")
    assert "there was no test part" in model_card(RunFolder(tmp_path / "v"))


def test_nothing_to_write_of(tiny_run: Path, tmp_path: Path) -> None:
    for name in ("config.json", "run.json"):
        shutil.copy(tiny_run / name, tmp_path)
    with pytest.raises(InputError, match="nothing to write a card of"):
        model_card(RunFolder(tmp_path))
