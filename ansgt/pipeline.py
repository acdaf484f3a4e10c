"""The whole in one page: data set -> settings -> learner -> harness -> record.

    graph -> heuristics -> mixture -> sampler -> sequences -> transformer -> significance -> bandit -> mixture ...

The loop at the end is closed in `training/adaptive.py` alone.
"""

from pathlib import Path
from typing import Any

from ansgt.config import RunConfig, build_config
from ansgt.datasets import Dataset, load
from ansgt.storage import default_cache_dir
from ansgt.training import model_defaults, resolve_device, run, section_defaults


def prepare_run(
    dataset: str,
    model: str = "ansgt",
    *,
    root: Path | str = "data",
    split: str | None = None,
    cache_dir: Path | str | None = None,
    allow_changed: bool = False,
    download: bool = False,
    device: str = "auto",
    **options: Any,
) -> tuple[Dataset, RunConfig]:
    """Loads the data set and resolves every setting; `options` are those of `build_config`."""
    defaults: dict[str, Any] = {
        "model_defaults": model_defaults(model),
        "section_defaults": section_defaults(model),
    }
    data = load(dataset, root, cache_dir=cache_dir, allow_changed=allow_changed, download=download)
    chosen = split or data.default_split
    return data, build_config(data.name, model, chosen, device=resolve_device(device), **defaults, **options)


def train(dataset: str, model: str = "ansgt", *, run_dir: Path | str, **options: Any) -> dict[str, Any]:
    """Trains a model on a data set and returns the summary that `ansgt train` prints."""
    cache_dir = options.get("cache_dir") or default_cache_dir()
    data, config = prepare_run(dataset, model, **options)
    return run(config, data, run_dir, cache_dir=cache_dir)
