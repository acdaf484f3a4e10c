"""What `prepare` stores is what the same run reads, and the run's numbers are those without a store."""

from pathlib import Path
from typing import Any

import pytest
import torch

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.heuristics import StoredHeuristic
from ansgt.prediction.ansgt import TrainedANSGT
from ansgt.runs.prepare import prepare_run
from ansgt.runs.rows import Stored, row_stores, store_rows
from ansgt.runs.run import Environment, run
from ansgt.storage import DiskCache
from ansgt.testing import random_graph


def asked(tiny: dict[str, Any], **more: Any) -> tuple[Any, RunConfig]:
    return prepare_run("newman", device="cpu", overrides={**tiny, **more})


TINY = {"num_layers": 1, "hidden_channels": 16, "num_heads": 2, "num_augmentations": 2, "epochs": 2}


@pytest.mark.parametrize("data", [{}, {"size_columns": True, "normalize_features": "scaled"}])
def test_a_run_reads_what_prepare_stored(data: dict[str, Any], tmp_path: Path) -> None:
    dataset, config = asked(TINY, **data)
    cache, told = DiskCache(tmp_path), list[Stored]()
    result = store_rows(config, dataset.graph, cache, told.append)
    assert {path.name for path in Path(result["store"]).rglob("*.safetensors")} == {"000000.safetensors"}
    assert result["shards"] == len(result["heuristics"]) == 4
    assert result["bytes"] == sum(
        path.stat().st_size for path in Path(result["store"]).rglob("*.safetensors")
    )
    assert [(one.heuristic, one.rows) for one in told][:2] == [("1-hop", 0), ("1-hop", 128)]
    trained = TrainedANSGT.build(config, dataset.graph, 0, cache)
    assert all(isinstance(one, StoredHeuristic) for one in trained.pipeline.heuristics)


def test_a_run_gives_the_same_numbers_with_and_without_a_store(tmp_path: Path) -> None:
    dataset, config = asked(TINY)
    caches = [DiskCache(tmp_path / "with"), DiskCache(None)]
    store_rows(config, dataset.graph, caches[0])
    probabilities = []
    for number, cache in enumerate(caches):
        seen: list[torch.Tensor] = []

        def keep(_: int, found: torch.Tensor, seen: list[torch.Tensor] = seen) -> None:
            seen.append(found)

        run(config, dataset, tmp_path / f"run-{number}", environment=Environment(cache, on_validation=keep))
        probabilities.append(torch.stack(seen))
    assert torch.equal(*probabilities)


def test_other_settings_have_other_stores(tmp_path: Path) -> None:
    dataset, config = asked(TINY)
    cache = DiskCache(tmp_path)
    store_rows(config, dataset.graph, cache)
    _, other = asked(TINY, restart_prob=0.3, epochs=9)
    complete = [one.is_complete for one in row_stores(other, dataset.graph, cache)]
    assert complete == [True, True, False, True], "PPR alone reads restart_prob, none reads epochs"


class Mine:
    def fit(self, graph: Any) -> "Mine":
        return self

    def rows(self, nodes: Any) -> Any: ...


def test_nothing_to_store_is_said(tmp_path: Path) -> None:
    _, config = asked(TINY)
    config.settings["sampling"] = Mine()
    with pytest.raises(InputError, match="nothing to store"):
        store_rows(config, random_graph(), DiskCache(tmp_path))
