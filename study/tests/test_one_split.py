"""What is known of a split after its training: its record, and what every epoch said of the validation nodes."""

from pathlib import Path

import pytest

from ansgt.runs.prepare import prepare_run
from ansgt.storage import DiskCache
from study.scripts.one_split import train_once


@pytest.mark.parametrize("num_models", [1, 2])
def test_every_look_at_the_validation_nodes_is_kept_and_nothing_else(tmp_path: Path, num_models: int) -> None:
    overrides = {"epochs": 4, "eval_every": 2, "hidden_channels": 8, "num_models": num_models}
    data, config = prepare_run("newman", "mlp", device="cpu", overrides=overrides)
    split = data.split(config.split, 0, 0)
    trained = train_once(config, data.graph, split, DiskCache(tmp_path))
    assert [p.shape for p in trained.validation] == [
        (len(split.val), data.graph.num_classes)
    ] * 2 * num_models
    y = data.graph.y[split.val].numpy()
    hits = [float((p.argmax(axis=1) == y).mean()) for p in trained.validation]
    assert hits == [row["val_accuracy"] for row in trained.metrics if "val_accuracy" in row]
    assert len(trained.metrics) == 4 * num_models
    if num_models == 1:
        assert trained.result["val_accuracy"] == max(hits)
