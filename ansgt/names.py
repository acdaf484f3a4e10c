"""Names of nodes and classes: a graph counts from 0, its owner does not.

Inside, a node is its row and a class its column. Names of any hashable kind (texts, numbers, tuples) stand beside them and
come back in everything that is shown: `classes_`, predictions, explanations, pictures, files.
"""

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ansgt.arrays import brief_repr, check_room, numbers
from ansgt.errors import InputError, one_sentence
from ansgt.settings import shown

LARGEST_LABEL = 2**31


class Names:
    """Distinct names, in the order of what they name.

    >>> names = Names(["ada", "grace", 7])
    >>> names.find(["grace", 7]), names[0], len(names)
    (array([1, 2]), 'ada', 3)
    """

    def __init__(self, values: Iterable[Hashable], what: str = "node") -> None:
        self.values: list[Any] = [_plain(value) for value in values]
        self.what = what
        if len(self._places) < len(self.values):
            seen: set[Any] = set()
            twice = next(value for value in self.values if value in seen or seen.add(value))  # type: ignore[func-returns-value]
            raise InputError(f"The {what} {shown(twice)} is named twice; names must be distinct.")

    @cached_property
    def _places(self) -> dict[Any, int]:
        try:
            return {value: place for place, value in enumerate(self.values)}
        except TypeError:
            wrong = next(value for value in self.values if not isinstance(value, Hashable))
            raise InputError(f"A name of a {self.what} must be hashable, not {shown(wrong)}.") from None

    @cached_property
    def _texts(self) -> dict[str, int]:
        return {str(value): place for place, value in enumerate(self.values)}

    def find(self, names: Iterable[Any]) -> np.ndarray:
        """Places of some names [k], int64; a text finds what is written like it (the command line knows texts alone)."""
        return np.array([self.place(name) for name in names], dtype=np.int64)

    def place(self, name: Any) -> int:
        name = _plain(name)
        try:
            found = self._places.get(name)
        except TypeError:
            found = None
        if found is None and isinstance(name, str):
            found = self._texts.get(name)
        if found is None:
            raise InputError(
                f"There is no {self.what} named {shown(name)} among {len(self)}, of which the first is {shown(self[0])}."
                if self.values
                else f"There is no {self.what} named {shown(name)}."
            )
        return found

    def array(self) -> np.ndarray:
        """The names as numpy holds them best: texts, numbers, or objects."""
        return array_of(self.values)

    def as_json(self) -> list[Any]:
        """What JSON can hold; of kinds that it lacks the text."""
        return [_to_json(value) for value in self.values]

    @classmethod
    def from_json(cls, values: Any, what: str = "node") -> "Names":
        if not isinstance(values, list):
            raise InputError(f"The names of {what}s are no list.")
        return cls((_from_json(value) for value in values), what)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> Any:
        return self.values[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.values == other.values

    def __hash__(self) -> int:
        return hash(len(self.values))

    def __repr__(self) -> str:
        return f"Names({len(self)}: {', '.join(shown(value) for value in self.values[:3])}, ...)"


@dataclass(frozen=True, eq=False)
class Labelling:
    """What a graph's numbers stand for, as one file holds it.

    Args:
        nodes, classes: names, where there are any.
        columns: how a table became features (`datasets.columns`), so that a further table becomes the same ones.
    """

    nodes: Names | None = None
    classes: Names | None = None
    columns: dict[str, Any] | None = None
    __repr__ = brief_repr

    def __bool__(self) -> bool:
        return self.nodes is not None or self.classes is not None or self.columns is not None

    def as_dict(self) -> dict[str, Any]:
        """A JSON object."""
        names = {"nodes": self.nodes, "classes": self.classes}
        found: dict[str, Any] = {key: None if held is None else held.as_json() for key, held in names.items()}
        return {**found, "columns": self.columns}

    @classmethod
    def from_dict(cls, found: Any) -> "Labelling":
        """What `as_dict` made; raises `InputError` for anything else."""
        if not isinstance(found, dict) or not isinstance(found.get("columns"), dict | None):
            raise InputError("The names of nodes and classes are not what ansgt writes (damaged).")
        nodes, classes = found.get("nodes"), found.get("classes")
        return cls(
            None if nodes is None else Names.from_json(nodes),
            None if classes is None else Names.from_json(classes, "class"),
            found.get("columns"),
        )

    def packed(self) -> np.ndarray:
        """The bytes of the JSON object: a file of arrays holds them without pickle, whatever the kinds of the names."""
        return np.frombuffer(json.dumps(self.as_dict()).encode("ascii"), dtype=np.uint8)

    @classmethod
    def unpacked(cls, stored: Any) -> "Labelling":
        """What `packed` made."""
        array = np.asarray(stored)
        try:
            found = json.loads(array.tobytes()) if array.dtype == np.uint8 and array.ndim == 1 else None
        except (ValueError, RecursionError):
            found = None
        return cls.from_dict(found)


@one_sentence("Field 'y'")
def encoded_labels(y: Any, num_nodes: int) -> tuple[Tensor, int, Names | None]:
    """Labels of any kind as classes [n] (-1: unknown), their number C, and their names where those are not 0..C-1.

    Unknown are None, NaN, an empty text and the number -1. Whole numbers may have gaps and may be floats.

    >>> encoded_labels(["dog", None, "cat", "dog"], 4)
    (tensor([ 1, -1,  0,  1]), 2, Names(2: 'cat', 'dog', ...))
    >>> encoded_labels([1.0, float("nan"), 0.0], 3)
    (tensor([ 1, -1,  0]), 2, None)
    """
    if y is None:
        return torch.full((num_nodes,), -1, dtype=torch.int64), 0, None
    values = y if isinstance(y, Tensor) else _as_array(y)
    if not isinstance(values, Tensor) and values.dtype.kind in "OUST":
        values = _column(values, num_nodes)
        found = [_known(value) for value in values.tolist()]
        if not all(type(value) in (int, float, type(None)) for value in found):
            return _by_name(found)
        values = np.array([np.nan if value is None else value for value in found], dtype=np.float64)
    return _by_number(_column(numbers("y", values), num_nodes))


def _as_array(y: Any) -> np.ndarray:
    try:
        if isinstance(y, list | tuple) and not any(isinstance(one, list | np.ndarray | Tensor) for one in y):
            array = np.empty(len(y), dtype=object)  # numpy would make texts of numbers and rows of tuples
            array[:] = y
            return array
        return np.asarray(y)
    except Exception:  # ragged lists and whatever an object's own conversion raises
        raise InputError("Field 'y' is not one label per node.") from None


def _column(labels: Any, num_nodes: int) -> Any:
    """Labels of shape [n]; a column [n, 1] is one."""
    strided = not isinstance(labels, Tensor) or labels.layout == torch.strided
    if strided and labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if strided and labels.ndim == 2 and labels.shape[0] == num_nodes and labels.shape[1] > 1:
        raise InputError(
            f"Field 'y' must have shape [{num_nodes}], not {list(labels.shape)}: a node has one class here. Fit one "
            "classifier per column for several labels a node; give y.argmax(1) where the columns are one-hot."
        )
    if not strided or labels.ndim != 1 or len(labels) != num_nodes:
        raise InputError(f"Field 'y' must have shape [{num_nodes}], not {list(labels.shape)}.")
    return labels


def _by_number(labels: Tensor) -> tuple[Tensor, int, Names | None]:
    if labels.dtype == torch.bool:
        found = torch.unique(labels)
        names = Names([False, True][int(found[0]) : int(found[-1]) + 1], "class") if len(found) else None
        return labels.long() - (int(found[0]) if len(found) else 0), len(found), names
    if labels.is_floating_point():
        labels = torch.where(labels.isnan(), torch.full_like(labels, -1), labels)
        wrong = labels[(labels != labels.round()) | (labels.abs() >= LARGEST_LABEL)]
        if len(wrong):
            raise InputError(
                f"Field 'y' holds {float(wrong[0]):g}: classes are whole numbers or names (-1 for unknown). To predict a "
                "quantity, cut it into classes first (pandas.cut); regression is not supported."
            )
    labels = labels.to(torch.int64)
    if bool((labels < -1).any()):
        raise InputError(
            f"Field 'y' holds label {int(labels.min())}; labels are names or numbers from 0, -1 for unknown."
        )
    known = torch.unique(labels[labels >= 0])
    num_classes = len(known)
    check_room("y", 32 * len(labels) * num_classes)  # several tables of probabilities [n, C]
    if not num_classes or int(known[-1]) == num_classes - 1:
        return labels.contiguous(), num_classes, None
    codes = torch.where(labels < 0, -1, torch.searchsorted(known, labels.clamp(min=0)))
    return codes, num_classes, Names(known.tolist(), "class")


def _by_name(labels: Sequence[Any]) -> tuple[Tensor, int, Names | None]:
    try:
        classes = sorted({value for value in labels if value is not None}, key=_order)
    except TypeError:
        raise InputError("Field 'y' holds labels that are not hashable.") from None
    check_room("y", 32 * len(labels) * len(classes))
    places = {value: place for place, value in enumerate(classes)}
    codes = torch.tensor([-1 if value is None else places[value] for value in labels], dtype=torch.int64)
    return codes, len(classes), Names(classes, "class")


def _order(value: Any) -> tuple[str, Any]:
    """Texts among texts, numbers among numbers."""
    if isinstance(value, int | float):
        return "", value
    return type(value).__name__, value if isinstance(value, str) else str(value)


def _known(value: Any) -> Any:
    """A label, or None where it says that none is known."""
    value = _plain(value)
    if is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    return None if isinstance(value, int | float) and value == -1 else value


def is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has in their place (NA, NaT).

    >>> is_missing(None), is_missing(float("nan")), is_missing("nan"), is_missing(0)
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def array_of(values: Sequence[Any]) -> np.ndarray:
    """Names as an array: of texts or numbers where all are of that kind, else of objects."""
    for kinds, dtype in (((str,), np.str_), ((bool,), np.bool_), ((int,), np.int64), ((float,), np.float64)):
        if values and all(type(value) in kinds for value in values):
            try:
                return np.array(values, dtype=dtype)
            except OverflowError:
                break
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _plain(value: Any) -> Any:
    """Python's own kind of a numpy scalar."""
    if isinstance(value, np.generic):
        value = value.item()
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def _to_json(value: Any) -> Any:
    if value is None or isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    return {"tuple": [_to_json(one) for one in value]} if isinstance(value, tuple) else str(value)


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    try:
        if "float" in value:
            return float.fromhex(value["float"])
        return tuple(_from_json(one) for one in value["tuple"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("The names of nodes and classes are not what ansgt writes (damaged).") from None
