"""Predictions as a table: name of the node, predicted class, known label, probability of each class."""

import csv
import io
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ansgt.arrays import brief_repr
from ansgt.datasets.files import STEMS
from ansgt.errors import InputError
from ansgt.names import Names, array_of
from ansgt.storage import atomic_path, write_npz, write_text

if TYPE_CHECKING:
    from ansgt.runs.folder import RunFolder

SUFFIXES = (".csv", ".npz", ".parquet")


def check_target(path: Path, option: str = "--output", graph: Path | str | None = None) -> Path:
    """A path that predictions can be written to without damage.

    Args:
        path: of the new file.
        option: that gave it.
        graph: the file, folder or pair of files that is read, which must stay as it is.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"{option} must end in .csv, .npz or .parquet, not {path.name!r}.")
    if (path.parent / "result.json").exists():
        raise InputError(
            f"{option} {path} lies in the record of a split, which it would damage: choose another folder."
        )
    for source in map(Path, str(graph).split(",")):
        if path.exists() and (path.samefile(source) if source.is_file() else _is_table_of(path, source)):
            raise InputError(f"{option} {path} is part of the graph that is read: choose another name.")
    return path


def _is_table_of(path: Path, folder: Path) -> bool:
    return path.stem in itertools.chain(*STEMS) and path.resolve().parent == folder.resolve()


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a model says of some nodes.

    Args:
        probabilities: of the classes [k, C].
        label: known classes [k], -1 where unknown.
        node_names, class_names: what to call nodes and classes; None: their numbers.
        nodes: which nodes of the graph the rows are [k]; None: all, in order.
    """

    probabilities: np.ndarray
    label: np.ndarray
    node_names: Names | None = None
    class_names: Names | None = None
    nodes: np.ndarray | None = None
    __repr__ = brief_repr

    @classmethod
    def stored(cls, run: "RunFolder", split: int = 0) -> "Predictions":
        """Of all nodes, as a run's record has them."""
        arrays, labelling = run.split(split).predictions(), run.labelling()
        return cls(arrays["probabilities"], arrays["label"], labelling.nodes, labelling.classes)

    def of(self, nodes: Sequence[str]) -> "Predictions":
        """Those of some nodes, given by names; by numbers where nodes have no names."""
        if self.node_names is not None:
            chosen = self.node_names.find(nodes)
        else:
            chosen = Names(range(len(self.label))).find(nodes)
        return replace(self, probabilities=self.probabilities[chosen], label=self.label[chosen], nodes=chosen)

    def table(self) -> dict[str, list[Any]]:
        """The columns: `node`, `prediction`, `label` (None, or -1 where classes have no names), `p_<class>`."""
        places = range(len(self.probabilities)) if self.nodes is None else self.nodes.tolist()
        predicted, names = self.probabilities.argmax(axis=1).tolist(), self.class_names
        columns: dict[str, list[Any]] = {
            "node": list(places) if self.node_names is None else [self.node_names[place] for place in places],
            "prediction": predicted if names is None else [names[code] for code in predicted],
            "label": self.label.tolist()
            if names is None
            else [None if code < 0 else names[code] for code in self.label.tolist()],
        }
        for code, values in enumerate(self.probabilities.T):
            columns[f"p{code}" if names is None else f"p_{names[code]}"] = values.tolist()
        return columns

    def write(self, path: Path) -> None:
        """A `.csv`, `.npz` or `.parquet` file, by the suffix."""
        if path.suffix == ".csv":
            write_text(path, self._csv())
        elif path.suffix == ".npz":
            write_npz(path, **self._arrays())
        elif path.suffix == ".parquet":
            self._write_parquet(path)
        else:
            raise InputError(f"Predictions go to one of {', '.join(SUFFIXES)}, not to {path.name!r}.")

    def _csv(self) -> str:
        table = self.table()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table)
        shown = [
            [f"{value:.6g}" for value in column] if at >= 3 else column
            for at, column in enumerate(table.values())
        ]
        writer.writerows(zip(*shown, strict=True))
        return out.getvalue()

    def _arrays(self) -> dict[str, np.ndarray]:
        table = self.table()
        predicted = self.probabilities.argmax(axis=1)
        arrays = {"prediction": predicted, "label": self.label, "probabilities": self.probabilities}
        arrays["node"] = _stored(table["node"])
        return arrays if self.class_names is None else {**arrays, "classes": _stored(self.class_names.values)}

    def _write_parquet(self, path: Path) -> None:
        try:
            import pyarrow
            from pyarrow import parquet
        except ImportError:
            raise InputError("Parquet needs pyarrow: pip install 'ansgt[tables]'.") from None
        table = self.table()
        columns = {name: _stored_list(values) for name, values in table.items()}
        with atomic_path(path) as temporary:
            parquet.write_table(pyarrow.table(columns), temporary)


def _stored(values: list[Any]) -> np.ndarray:
    """Names as an array without objects, which would be a pickle in a file."""
    array = array_of(values)
    return np.array([str(value) for value in values]) if array.dtype == object else array


def _stored_list(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    return (
        values
        if len(kinds) <= 1 and kinds <= {int, float, str, bool}
        else [None if value is None else str(value) for value in values]
    )
