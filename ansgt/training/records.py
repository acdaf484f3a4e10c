"""The run directory: everything that is reported is computed from these files.

::

    run/
      config.json          the resolved settings
      run.json             data set, variant, data hash, versions
      summary.json         mean and std over the splits (when all are done)
      split-0/
        checkpoint.safetensors   latest state, for --resume (gone when the split is done)
        model.safetensors        weights of the best validation epoch
        split.npz                train / val / test indices
        metrics.jsonl            a row an epoch (and restart)
        history.jsonl            the bandit's weights and rewards, where there are any
        predictions.npz          class probabilities of every node
        result.json              accuracies; written last
        restart-0/ ...           the same of every restart, until the last is done
"""

import json
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.storage import make_folder, read_json, write_json, write_text


@dataclass(frozen=True)
class RunFolder:
    """A run directory; see the module's picture of it."""

    path: Path

    def split(self, index: int) -> Path:
        return self.path / f"split-{index}"

    def config(self) -> RunConfig:
        if not (self.path / "config.json").exists():
            raise InputError(f"{self.path} is not a run directory: it has no config.json.")
        return RunConfig.from_dict(read_json(self.path / "config.json"))

    def info(self) -> dict[str, Any]:
        return read_json(self.path / "run.json")

    def results(self) -> list[dict[str, Any]]:
        """Results of the finished splits, in order."""
        paths = [self.split(i) / "result.json" for i in range(self.config().num_splits)]
        return [read_json(path) for path in paths if path.exists()]

    def history(self, index: int) -> list[dict[str, Any]]:
        return read_rows(self.split(index) / "history.jsonl")

    def metrics(self, index: int) -> list[dict[str, Any]]:
        return read_rows(self.split(index) / "metrics.jsonl")

    def predictions(self, index: int) -> dict[str, np.ndarray]:
        path = self.split(index) / "predictions.npz"
        if not path.exists():
            raise InputError(f"Split {index} of {self.path} is not finished: it has no predictions.npz.")
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}

    def start(self, config: RunConfig, info: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Makes the folder ready: new, to be resumed with the same settings, or emptied on request."""
        make_folder(self.path)
        exists = (self.path / "config.json").exists()
        if exists and overwrite:
            self._clear()
            exists = False
        if exists and not resume:
            raise InputError(
                f"{self.path} already holds a run; use --resume, --overwrite or another --run-dir."
            )
        if exists:
            self._check_same(config, info)
        else:
            write_json(self.path / "run.json", info)
            write_json(self.path / "config.json", config.as_dict())

    def _check_same(self, config: RunConfig, info: dict[str, Any]) -> None:
        stored, asked = self.config().as_dict(), json.loads(json.dumps(config.as_dict()))
        changed = [key for key in asked if asked[key] != stored[key]]
        if changed:
            raise InputError(
                f"{self.path} holds a run with other settings ({', '.join(changed)}); cannot resume it."
            )
        if self.info()["data_hash"] != info["data_hash"]:
            raise InputError(f"{self.path} holds a run on other data of the same name; cannot resume it.")

    def _clear(self) -> None:
        for folder in self.path.glob("split-*"):
            shutil.rmtree(folder)
        for name in ("summary.json", "config.json", "run.json"):
            (self.path / name).unlink(missing_ok=True)


def open_run(path: Path | str) -> RunFolder:
    """An existing run directory, or one clear sentence."""
    path = Path(path)
    if not path.is_dir():
        raise InputError(f"The run directory {path} does not exist.")
    folder = RunFolder(path)
    folder.config()
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def read_rows(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_restart(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A split's rows, a list for each of its models; without restarts there is one."""
    parts: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row.get("restart", 0), []).append(row)
    return list(parts.values())


def summarize(values: list[float]) -> dict[str, Any]:
    """Mean and population standard deviation over splits, with the values themselves."""
    known = [v for v in values if v is not None]
    if not known:
        return {"mean": None, "std": None, "per_split": values}
    return {"mean": float(np.mean(known)), "std": float(np.std(known)), "per_split": values}


def versions() -> dict[str, str]:
    """Versions that can change a number."""
    found = {"python": platform.python_version(), "platform": sys.platform}
    for package in ("ansgt", "torch", "torch_geometric", "numpy", "scipy", "numba", "safetensors"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
    return found
