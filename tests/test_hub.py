"""A classifier as a repository of the Hugging Face Hub, written and read without a network."""

from pathlib import Path

import numpy as np
import pytest

import ansgt
from ansgt.errors import InputError

pytest.importorskip("huggingface_hub", reason="huggingface_hub is an extra")


def test_save_and_load_with_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from huggingface_hub import ModelCard

    from ansgt.hub import HubClassifier

    clf = ansgt.NodeClassifier("mlp", epochs=3, device="cpu").fit(ansgt.load_dataset("newman"))
    HubClassifier(clf).save_pretrained(tmp_path / "repo")
    card = ModelCard.load(tmp_path / "repo" / "README.md")
    assert card.data.library_name == "ansgt"
    assert f"accuracy {100 * clf.score():.2f} %" in card.text
    assert "What it was not tested on" in card.text
    again = HubClassifier.from_pretrained(tmp_path / "repo", device="cpu")
    assert np.array_equal(again.classifier.predict_proba(), clf.predict_proba())
    assert not list(tmp_path.rglob("*.pkl"))
    assert str(HubClassifier(clf).generate_model_card()) == str(card)


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    from ansgt.hub import HubClassifier

    with pytest.raises(InputError, match="not written by HubClassifier"):
        HubClassifier.from_pretrained(tmp_path)
