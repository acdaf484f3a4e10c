"""The run directory: everything that is reported is computed from these files.

::

    run/
      config.json              the resolved settings
      run.json                 data set, variant, data hash, versions
      summary.json             mean and std over the splits (when all are done)
      graph.npz                the graph itself, in what `NodeClassifier.save` writes
      names.json               what nodes and classes are called, where they have names
      memory.json              largest memory while training, in what `ansgt compare` trains
      split-0/
        checkpoint.safetensors latest state, for --resume (gone when the split is done)
        model.safetensors      weights of the best validation epoch
        split.npz              train / val / test indices
        metrics.jsonl          one row per epoch (and model)
        history.jsonl          the bandit's weights and rewards, where there are any
        predictions.npz        class probabilities of every node
        models.npz             those of validation and test nodes by each of several models (float16)
        result.json            accuracies; written last
        model-0/ ...           the same of every model of an ensemble, until the last is done
      predictions.csv, report.html, weights.png, program.pt2, program.onnx, tensorboard/, wandb/    what verbs made of it

No other file knows these names. `run.json` says that the folder is ours (`FORMAT`); JSON files carry a sha256 of their own
content, and a split's result those of all its files: whatever is read is compared. Other people's files in the folder are
never touched.
"""

import json
import os
import re
import shutil
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from ansgt.config import RunConfig
from ansgt.datasets.custom import write_graph
from ansgt.errors import InputError
from ansgt.graph import Graph, Split
from ansgt.names import Labelling
from ansgt.settings import shown
from ansgt.storage import (
    SEAL,
    TEMPORARY,
    brief,
    check_is_file,
    content_hash,
    damaged,
    file_sha256,
    folder_lock,
    load_state,
    make_folder,
    read_json,
    read_sealed_json,
    save_state,
    write_npz,
    write_sealed_json,
    write_text,
)

FORMAT = "ansgt run 2"
"""Marker in `run.json`; records of version 0.1 have none, and no hashes."""
LOCK = ".lock"
GRAPH = "graph.npz"
OF_SPLIT = (
    "checkpoint.safetensors",
    "model.safetensors",
    "split.npz",
    "metrics.jsonl",
    "history.jsonl",
    "predictions.npz",
    "models.npz",
    "result.json",
)
"""What a run writes into the folder of a split or model."""
OF_RUN = (
    "config.json",
    "run.json",
    "summary.json",
    GRAPH,
    "names.json",
    "memory.json",
    "predictions.csv",
    "report.html",
    "weights.png",
    "program.pt2",
    "program.onnx",
)
"""What a run, and what verbs make of it, write into its folder."""
FOLDER_OF_SPLIT, FOLDER_OF_MODEL = re.compile(r"split-\d+"), re.compile(r"(model|restart)-\d+")
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class SplitFolder:
    """The files of one split, or of one model of an ensemble."""

    path: Path

    @property
    def is_finished(self) -> bool:
        return self._result.exists()

    @property
    def has_checkpoint(self) -> bool:
        return self._checkpoint.exists()

    def seconds_spent(self) -> float:
        """What training has taken so far, in this process or earlier ones."""
        if self.is_finished:
            return float(self.result()["seconds"])
        models = [SplitFolder(folder) for folder in folders_of(self.path, FOLDER_OF_MODEL)]
        own = float(self.checkpoint()["seconds"]) if self.has_checkpoint else 0.0
        return own + sum(model.seconds_spent() for model in models)

    def model(self, number: int) -> "SplitFolder":
        """The folder of one model of an ensemble, while it is trained."""
        return SplitFolder(self.path / f"model-{number}")

    def remove_models(self) -> None:
        for folder in folders_of(self.path, FOLDER_OF_MODEL):
            SplitFolder(folder).remove()

    def remove(self) -> None:
        """Removes what a run wrote, and the folder if nothing else is in it."""
        self.remove_models()
        self.remove_leftovers()
        for name in OF_SPLIT:
            (self.path / name).unlink(missing_ok=True)
        _remove_if_empty(self.path)

    def remove_leftovers(self) -> None:
        """Removes what killed processes left of files that they were writing."""
        _remove_temporaries(self.path, OF_SPLIT)
        for folder in folders_of(self.path, FOLDER_OF_MODEL):
            SplitFolder(folder).remove_leftovers()

    def result(self) -> dict[str, Any]:
        return read_sealed_json(self._result)

    def write_result(self, result: dict[str, Any]) -> None:
        """The last word of a split: with the sha256 of all its other files."""
        written = [
            self.path / name for name in OF_SPLIT if name not in (self._result.name, self._checkpoint.name)
        ]
        files = {path.name: file_sha256(path) for path in written if path.exists()}
        write_sealed_json(self._result, {**result, "files": files})

    def metrics(self) -> Rows:
        return _read_rows(self._verified("metrics.jsonl"))

    def write_metrics(self, rows: Rows) -> None:
        _write_rows(self.path / "metrics.jsonl", rows)

    def history(self) -> Rows:
        return _read_rows(self._verified("history.jsonl"))

    def write_history(self, rows: Rows) -> None:
        """Nothing is written where there is no row."""
        if rows:
            _write_rows(self.path / "history.jsonl", rows)

    def weights(self) -> dict[str, Tensor]:
        stored: dict[str, Tensor] = load_state(self._needed("model.safetensors"))
        if not isinstance(stored, dict) or not all(isinstance(value, Tensor) for value in stored.values()):
            raise damaged(self.path / "model.safetensors")
        for name, value in stored.items():
            if value.is_floating_point() and not bool(value.isfinite().all()):
                raise InputError(
                    f"The weights {self.path / 'model.safetensors'} hold NaN or infinity in '{name}'."
                )
        return stored

    def write_weights(self, weights: dict[str, Tensor]) -> None:
        save_state(self.path / "model.safetensors", weights)

    def predictions(self) -> dict[str, np.ndarray]:
        """Class probabilities of every node [n, C] and known labels [n]."""
        path = self._needed("predictions.npz")
        arrays = _read_arrays(path, ("probabilities", "label"))
        probabilities, label = arrays["probabilities"], arrays["label"]
        if (
            probabilities.ndim != 2
            or label.shape != probabilities.shape[:1]
            or probabilities.dtype.kind != "f"
        ):
            raise damaged(path)
        if self.is_finished and self.result().get("prediction_hash") not in (
            None,
            content_hash(probabilities),
        ):
            raise damaged(path)
        return arrays

    def write_predictions(self, probabilities: np.ndarray, label: np.ndarray) -> None:
        write_npz(self.path / "predictions.npz", probabilities=probabilities, label=label)

    def alone(self) -> dict[str, np.ndarray] | None:
        """`nodes` [s] and what each of several models says of them, `probabilities` [K, s, C]; None for one model."""
        path = self._verified("models.npz")
        return _read_arrays(path, ("nodes", "probabilities")) if path.exists() else None

    def write_alone(self, nodes: np.ndarray, probabilities: np.ndarray) -> None:
        write_npz(self.path / "models.npz", nodes=nodes, probabilities=probabilities)

    def check_split(self, split: Split) -> None:
        """Raises `InputError` where the nodes that were trained on are not those of `split`."""
        arrays, path = self.parts(), self.path / "split.npz"
        same = all(np.array_equal(arrays[part], nodes) for part, nodes in split.parts.items())
        if not same or self.result().get("split_hash") != split.hash:
            raise InputError(
                f"The split in {path} is not the one that the data and the settings of this run give."
            )

    def parts(self) -> dict[str, np.ndarray]:
        """Indices of the nodes of each part: train, val, test."""
        path = self._needed("split.npz")
        arrays = _read_arrays(path, ("train", "val", "test"))
        if any(nodes.ndim != 1 or nodes.dtype.kind not in "iu" for nodes in arrays.values()):
            raise damaged(path)
        return arrays

    def write_split(self, split: Split) -> None:
        write_npz(self.path / "split.npz", **split.parts)

    def checkpoint(self) -> dict[str, Any]:
        """The latest state; several processes read that of rank 0."""
        from ansgt.ranks import ranks  # nobody who predicts reads a checkpoint

        with ranks().told_file(self._checkpoint) as path:
            stored: dict[str, Any] = load_state(path)
        return stored

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        save_state(self._checkpoint, state)

    def remove_checkpoint(self) -> None:
        self._checkpoint.unlink(missing_ok=True)

    def _needed(self, name: str) -> Path:
        path = self._verified(name)
        if not path.exists():
            raise InputError(f"{self.path.name} of {self.path.parent} is not finished: it has no {name}.")
        return path

    def _verified(self, name: str) -> Path:
        """The path of a file whose sha256 is the one in the split's result, where that has one."""
        path = self.path / name
        if self.is_finished:
            stored = self.result().get("files")
            if isinstance(stored, dict) and stored.get(name) != (
                file_sha256(path) if path.exists() else None
            ):
                raise damaged(path)
        return path

    @property
    def _result(self) -> Path:
        return self.path / "result.json"

    @property
    def _checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"


@dataclass(frozen=True)
class RunFolder:
    """A run directory; see the module's picture of it."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether there is a run in it."""
        return self._config.exists()

    def split(self, index: int) -> SplitFolder:
        return SplitFolder(self.path / f"split-{index}")

    def config(self) -> RunConfig:
        if not self.exists:
            raise InputError(f"{self.path} is not a run directory: it has no {self._config.name}.")
        try:
            return RunConfig.from_dict(read_sealed_json(self._config))
        except (TypeError, AttributeError) as error:
            raise InputError(f"The file {self._config} is not a config of a run: {brief(error)}.") from None

    def info(self) -> dict[str, Any]:
        """Data set, variant, data hash and versions."""
        info = read_sealed_json(self._info)
        absent = [name for name in ("dataset", "variant", "data_hash") if not isinstance(info.get(name), str)]
        if absent:
            raise InputError(
                f"The file {self._info} is not one of a run: field '{absent[0]}' is missing or no text."
            )
        return info

    def check(self) -> None:
        """Raises `InputError` where a seal is missing that this version writes; warns that older records have none."""
        if self.info().get("format") != FORMAT:
            warnings.warn(
                f"The record {self.path} was written by ansgt 0.1 and has no hashes: damage would go unnoticed.",
                stacklevel=2,
            )
            return
        sealed = [self._config, self._info, *(split._result for split in self.finished_splits())]
        for path in sealed:
            content = read_json(path)
            if not isinstance(content, dict) or SEAL not in content:
                raise damaged(path)
        self.labelling()

    @property
    def is_finished(self) -> bool:
        """Whether every split is."""
        return all(split.is_finished for split in self._splits())

    def results(self) -> list[dict[str, Any]]:
        """Results of the finished splits, in order; raises `InputError` where a finished run has lost one."""
        splits = self._splits()
        lost = next((split for split in splits if not split.is_finished), None)
        if lost is not None and self._summary.exists():  # it is written when all are done
            raise InputError(f"{lost.path} has lost its result.json (damaged); train it again with --resume.")
        return [split.result() for split in self.finished_splits()]

    def finished_splits(self) -> list[SplitFolder]:
        """The folders of the finished splits, in order."""
        return [split for split in self._splits() if split.is_finished]

    def _splits(self) -> list[SplitFolder]:
        return [self.split(index) for index in range(self.config().num_splits)]

    def write_summary(self, summary: dict[str, Any]) -> None:
        write_sealed_json(self._summary, summary)

    @property
    def graph(self) -> Path:
        """Where a saved classifier keeps its graph."""
        return self.path / GRAPH

    def write_graph(self, graph: Graph, split: Split) -> None:
        write_graph(self.graph, graph, split)

    def labelling(self) -> Labelling:
        """What nodes and classes are called; an empty one where they have no names."""
        path = self.path / "names.json"
        found = Labelling.from_dict(read_sealed_json(path)) if path.exists() else Labelling()
        if self.info().get("names_hash") not in (None, content_hash(found.as_dict())):
            raise damaged(path)
        return found

    def write_labelling(self, graph: Graph) -> None:
        """Nothing is written where there are no names."""
        if graph.labelling:
            write_sealed_json(self.path / "names.json", graph.labelling.as_dict())

    def peak_bytes(self) -> int | None:
        """Largest memory while training, where it was measured."""
        path = self.path / "memory.json"
        peak: int | None = read_sealed_json(path).get("peak_bytes") if path.exists() else None
        return peak

    def write_peak_bytes(self, peak: int | None) -> None:
        write_sealed_json(self.path / "memory.json", {"peak_bytes": peak})

    @property
    def default_predictions(self) -> Path:
        return self.path / "predictions.csv"

    @property
    def default_report(self) -> Path:
        return self.path / "report.html"

    def default_program(self, suffix: str) -> Path:
        """Where `ansgt export` writes, by the suffix of the format."""
        return self.path / f"program{suffix}"

    @property
    def weights_picture(self) -> Path:
        return self.path / "weights.png"

    def log(self, name: str) -> Path:
        """Where a logger of this name writes."""
        return self.path / name

    @property
    def tensorboard(self) -> Path:
        return self.log("tensorboard")

    def lock(self) -> AbstractContextManager[None]:
        """Held while a process writes; a second one gets a `BusyError` at once."""
        return folder_lock(self.path)

    def start(self, config: RunConfig, info: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Makes the folder ready: new, to be resumed with the same settings, or emptied on request.

        Only files that a run wrote are removed; a folder with a stranger's files of the same names is refused.
        """
        make_folder(self.path)
        self._check_ours()
        self._remove_leftovers()
        if self.exists and overwrite:
            self.clear()
        if self.exists and not resume:
            raise InputError(
                f"{self.path} already holds a run; use --resume, --overwrite or another --run-dir."
            )
        if self.exists:
            self._check_same(config, info)
        else:
            write_sealed_json(self._info, {"format": FORMAT, **info})
            write_sealed_json(self._config, config.as_dict())

    @property
    def is_ours(self) -> bool:
        """Whether `run.json` says that a run of ansgt wrote this folder."""
        try:
            info = read_json(self._info)
        except InputError:
            return False
        return isinstance(info, dict) and (
            info.get("format") == FORMAT or {"data_hash", "versions"} <= set(info)
        )

    def _check_ours(self) -> None:
        written = [name for name in OF_RUN if (self.path / name).exists()]
        written += [folder.name for folder in folders_of(self.path, FOLDER_OF_SPLIT)]
        if written and not self.is_ours:
            raise InputError(
                f"{self.path} holds '{written[0]}', but not of a run of ansgt; choose another folder."
            )

    def _remove_leftovers(self) -> None:
        _remove_temporaries(self.path, OF_RUN)
        for folder in folders_of(self.path, FOLDER_OF_SPLIT):
            SplitFolder(folder).remove_leftovers()

    def _check_same(self, config: RunConfig, info: dict[str, Any]) -> None:
        stored, asked = self.config().as_dict(), json.loads(json.dumps(config.as_dict()))
        changed = [key for key in asked if asked[key] != stored[key]]
        if changed:
            raise InputError(
                f"{self.path} holds a run with other settings ({', '.join(changed)}); cannot resume it."
            )
        if self.info()["data_hash"] != info["data_hash"]:
            raise InputError(f"{self.path} holds a run on other data of the same name; cannot resume it.")

    def clear(self) -> None:
        """Removes everything that a run wrote here, and what verbs made of it; `run.json`, which says whose it is, last."""
        for folder in folders_of(self.path, FOLDER_OF_SPLIT):
            SplitFolder(folder).remove()
        if self.tensorboard.is_dir():
            for path in self.tensorboard.glob("events.out.tfevents.*"):
                path.unlink()
            _remove_if_empty(self.tensorboard)
        for name in (name for name in OF_RUN if name != self._info.name):
            (self.path / name).unlink(missing_ok=True)
        self._info.unlink(missing_ok=True)

    def copy_to(self, target: Path) -> None:
        """Copies what a run wrote, and nothing else, into an empty folder; links are followed."""
        for name in OF_RUN:
            _copy_file(self.path / name, target / name)
        for folder in folders_of(self.path, FOLDER_OF_SPLIT):
            (target / folder.name).mkdir()
            for name in OF_SPLIT:
                _copy_file(folder / name, target / folder.name / name)

    @property
    def _config(self) -> Path:
        return self.path / "config.json"

    @property
    def _info(self) -> Path:
        return self.path / "run.json"

    @property
    def _summary(self) -> Path:
        return self.path / "summary.json"


def open_run(path: Path | str) -> RunFolder:
    """An existing run directory; raises `InputError` where there is none, or where its files are not what was written."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"A run directory is a path, not {shown(path)}.")
    path = Path(path)
    if not os.path.isdir(path):
        raise InputError(f"The run directory {path} does not exist.")
    folder = RunFolder(path)
    folder.config()
    folder.check()
    return folder


def _copy_file(source: Path, target: Path) -> None:
    if source.exists():
        check_is_file(source)
        shutil.copyfile(source, target)


def by_model(rows: Rows) -> list[Rows]:
    """A split's rows, one list for each of its models; records of version 0.1 call a model a restart."""
    parts: dict[int, Rows] = {}
    for row in rows:
        number = int(row.get("model", row.get("restart", 0)) or 0)
        parts.setdefault(number, []).append(row)
    return list(parts.values())


def _write_rows(path: Path, rows: Rows) -> None:
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def _read_rows(path: Path) -> Rows:
    if not path.exists():
        return []
    check_is_file(path)
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, OSError, RecursionError) as error:
        raise InputError(f"The file {path} does not hold one JSON object per line: {brief(error)}.") from None
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"The file {path} does not hold one JSON object per line.")
    return rows


def _read_arrays(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    check_is_file(path)
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except Exception as error:  # whatever parsing raises
        raise InputError(f"The file {path} is truncated or damaged: {brief(error)}.") from None


def folders_of(path: Path, name: re.Pattern[str]) -> Iterator[Path]:
    """Folders in `path` whose whole name a run could have given them; links are not followed."""
    for folder in sorted(path.iterdir()) if path.is_dir() else ():
        if name.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            yield folder


def _remove_temporaries(path: Path, names: tuple[str, ...]) -> None:
    for name in names:
        for left in path.glob(TEMPORARY.replace("*", f"{name}.*", 1)):
            left.unlink(missing_ok=True)


def _remove_if_empty(path: Path) -> None:
    if path.is_dir() and not any(path.iterdir()):
        path.rmdir()
