"""Bit flips in every file of a saved classifier: noticed when it is read, or harmless."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt import NodeClassifier, load_dataset
from ansgt.errors import InputError
from ansgt.runs.folder import open_run
from ansgt.runs.reopen import FinishedRun, evaluate_run
from ansgt.storage import DiskCache

FLIPS = {"model.safetensors": 120, "checkpoint.safetensors": 60, "predictions.npz": 60, "split.npz": 60}
"""Flips per file; others get twenty."""
TINY = {"num_layers": 1, "hidden_channels": 8, "num_heads": 2, "num_augmentations": 2, "num_sampled": 5}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("flips") / "model"
    NodeClassifier(epochs=2, update_period=1, device="cpu", **TINY).fit(load_dataset("newman")).save(folder)
    return folder


def everything(folder: Path) -> dict[str, object]:
    """All that can be read of a record."""
    run = open_run(folder)
    split = run.split(0)
    return {
        "config": run.config().as_dict(),
        "info": run.info(),
        "results": run.results(),
        "metrics": split.metrics(),
        "history": split.history(),
        "weights": {name: value.numpy().tobytes() for name, value in split.weights().items()},
        "predictions": {name: value.tobytes() for name, value in split.predictions().items()},
        "classes": NodeClassifier.load(folder, device="cpu").predict().tolist(),
    }


def flipped(path: Path, rng: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    path.write_bytes(content)


def test_a_flip_anywhere_is_noticed_or_harmless(saved: Path, tmp_path: Path) -> None:
    expected = everything(saved)
    rng, unnoticed, longest = np.random.default_rng(0), [], 0
    for path in sorted(path for path in saved.rglob("*") if path.is_file() and path.stat().st_size):
        place = path.relative_to(saved)
        silent = 0
        for number in range(FLIPS.get(path.name, 20)):
            folder = tmp_path / "copy"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(saved, folder)
            flipped(folder / place, rng)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # "written by ansgt 0.1" would be a flip of the marker
                try:
                    found = everything(folder)
                except (InputError, UserWarning) as error:
                    longest = max(longest, len(str(error)))
                    continue
            silent += 1
            if found != expected:
                unnoticed.append(f"{place} ({number})")
        if path.name in ("model.safetensors", "predictions.npz", "split.npz"):
            assert silent == 0, f"{silent} flips in {place} went unnoticed"
    assert unnoticed == []
    assert 0 < longest < 600


def test_flips_in_a_checkpoint_are_noticed(tmp_path: Path) -> None:
    from ansgt.runs.folder import SplitFolder

    folder = SplitFolder(tmp_path)
    state = {"epoch": 3, "learner": {"w": torch.randn(40)}, "rows": [{"loss": 0.25}]}
    folder.write_checkpoint(state)
    whole, rng = (tmp_path / "checkpoint.safetensors").read_bytes(), np.random.default_rng(1)
    for _ in range(FLIPS["checkpoint.safetensors"]):
        (tmp_path / "checkpoint.safetensors").write_bytes(whole)
        flipped(tmp_path / "checkpoint.safetensors", rng)
        with pytest.raises(InputError):
            folder.checkpoint()


def test_reversed_predictions_and_an_edited_config_are_noticed(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "a")
    path = tmp_path / "a" / "split-0" / "predictions.npz"
    with np.load(path) as arrays:
        np.savez(path, probabilities=arrays["probabilities"][::-1], label=arrays["label"])
    with pytest.raises(InputError, match=r"predictions\.npz is damaged"):
        NodeClassifier.load(tmp_path / "a", device="cpu")
    shutil.copytree(saved, tmp_path / "b")
    path = tmp_path / "b" / "config.json"
    path.write_text(path.read_text().replace('"num_sampled": 5', '"num_sampled": 4'))
    with pytest.raises(InputError, match=r"config\.json is damaged"):
        NodeClassifier.load(tmp_path / "b", device="cpu")
    config = json.loads(path.read_text())
    del config["sha256"]  # without its seal it does not pass for an old record
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"config\.json is damaged"):
        NodeClassifier.load(tmp_path / "b", device="cpu")


def test_exchanged_names_are_noticed(tmp_path: Path) -> None:
    data = load_dataset("newman")
    data.y = [f"class {label}" for label in data.y.tolist()]
    clf = NodeClassifier("mlp", epochs=1, device="cpu").fit(data)
    for place in ("names.json", "graph.npz"):
        clf.save(tmp_path / place)
        path = tmp_path / place / place
        if place == "names.json":
            names = json.loads(path.read_text())
            path.write_text(json.dumps({"classes": names["classes"][::-1]}))
        else:
            with np.load(path) as stored:
                arrays = dict(stored)
            packed = arrays["ansgt_names"].tobytes().replace(b"class 0", b"class 9")
            np.savez(path, **{**arrays, "ansgt_names": np.frombuffer(packed, np.uint8)})
        with pytest.raises(InputError, match=r"names\.json is damaged|names of nodes or classes"):
            NodeClassifier.load(tmp_path / place, device="cpu").predict()


def test_weights_exchanged_between_runs_are_noticed(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "a")
    other = NodeClassifier(epochs=2, seed=1, device="cpu", **TINY).fit(load_dataset("newman"))
    other.save(tmp_path / "b")
    shutil.copy(tmp_path / "b" / "split-0" / "model.safetensors", tmp_path / "a" / "split-0")
    with pytest.raises(InputError, match=r"model\.safetensors is damaged"):
        evaluate_run(FinishedRun.open(tmp_path / "a", device="cpu"))


def test_flips_in_a_cache_cost_time_and_change_nothing(tmp_path: Path) -> None:
    cache, rng = DiskCache(tmp_path), np.random.default_rng(2)
    arrays = {"a": np.arange(50.0), "b": np.eye(3)}
    cache.fetch("kind", ["key"], lambda: arrays)
    (path,) = tmp_path.rglob("*.npz")
    whole = path.read_bytes()
    for _ in range(60):
        path.write_bytes(whole)
        flipped(path, rng)
        found = cache.fetch("kind", ["key"], lambda: arrays)
        assert {name: value.tobytes() for name, value in found.items()} == {
            name: value.tobytes() for name, value in arrays.items()
        }
    cache.fetch("kind", ["other"], lambda: {"a": np.zeros(50), "b": np.eye(3)})
    one, other = sorted(tmp_path.rglob("*.npz"))
    shutil.copy(one, other)  # a file that answers another question
    assert cache.fetch("kind", ["key"], lambda: arrays)["a"].sum() == arrays["a"].sum()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(UserWarning, match="going on without it"):
        found = DiskCache(tmp_path / "file").fetch("kind", ["key"], lambda: {"a": np.ones(2)})
    assert found["a"].sum() == 2
