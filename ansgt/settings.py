"""Typed settings: a setting's annotation says its type, its range and its choices, and the same annotation checks a value.

::

    @dataclass(frozen=True)
    class Settings(ModelSettings):
        hidden_channels: Count = 128
        dropout: Rate = 0.5
        norm: Literal["none", "batch"] = "none"
        limit: Count | None = None

`fitted(Settings, {"dropout": 2})` raises `InputError`: "Setting dropout must be in [0, 1), not 2."
"""

import dataclasses
import math
import numbers
import re
import reprlib
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ansgt.errors import InputError, unknown_name

T = TypeVar("T")
LONGEST = 80
"""Characters of a wrong value that an error shows."""
NARROW = 1000
"""A range up to this wide is shown whole in an error; of a wider one the error names the end that was missed."""


@dataclass(frozen=True)
class Range:
    """Finite numbers from `low` to `high`; an open end does not belong to the range.

    >>> 0.5 in Range(0, 1), float("nan") in Range(0, 1), float("inf") in Range(0)
    (True, False, False)
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and value not in (math.inf, -math.inf)

    def wanted(self, value: float) -> str:
        """What an error asks for in place of `value`.

        >>> Range(0, 1).wanted(3), Range(1, 2**31).wanted(0), Range(1, 2**31).wanted(10**10)
        ('in [0, 1]', 'at least 1', 'at most 2147483648')
        """
        if self.high - self.low <= NARROW:
            left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
            return f"in {left}{_number(self.low)}, {_number(self.high)}{right}"
        if value <= self.low and self.low > -math.inf:
            return f"{'greater than' if self.open_low else 'at least'} {_number(self.low)}"
        if value >= self.high and self.high < math.inf:
            return f"{'less than' if self.open_high else 'at most'} {_number(self.high)}"
        return "finite"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


Count = Annotated[int, Range(1, 2**31)]
"""A whole number from 1."""
Few = Annotated[int, Range(1, 1000)]
"""How many of something that costs as much as all before it: layers, models."""
Powers = Annotated[int, Range(0, 1000)]
"""Powers of a matrix that are kept; 0: none."""
Size = Annotated[int, Range(0, 2**31)]
"""A whole number from 0."""
Seed = Annotated[int, Range(0, 2**63 - 1)]
Number = Annotated[float, Range()]
"""A finite number."""
Positive = Annotated[float, Range(0, open_low=True)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
Rate = Annotated[float, Range(0, 1, open_high=True)]
"""A share below 1: the rate of a dropout, of a moving average."""
Fraction = Annotated[float, Range(0, 1, open_low=True)]
"""A share above 0."""


@dataclass(frozen=True)
class ByteSize:
    """Sizes of memory: a number of bytes, or a number with a unit, in powers of 1024.

    >>> "4G" in ByteSize(), "4 gigs" in ByteSize(), -1 in ByteSize()
    (True, False, False)
    """

    def __contains__(self, value: int | str) -> bool:
        return (num_bytes(value) or 0) > 0

    def wanted(self, value: int | str) -> str:
        """What an error asks for in place of `value`."""
        return "a number of bytes, or a text like 500M or 4G"


def num_bytes(size: int | str) -> int | None:
    """Bytes of a size such as 4096, "500M" or "1.5GiB"; None for what is none.

    >>> num_bytes("4K"), num_bytes("1.5GiB"), num_bytes(7), num_bytes("many")
    (4096, 1610612736, 7, None)
    """
    if isinstance(size, int):
        return size
    found = re.fullmatch(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)\s*([KMGT]?)(?:I?B)?\s*", size.upper())
    return None if found is None else int(float(found[1]) * 1024 ** " KMGT".index(found[2] or " "))


Memory = Annotated[int | str, ByteSize()]
"""Bytes, or a text like 4G."""


Selected = Literal[
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "log_loss",
    "brier",
    "calibration_error",
    "loss",
    "official",
]
"""What may pick an epoch, `ansgt.metrics.METRICS`: "loss" is another name of "log_loss", "official" the data set's own."""


@dataclass(frozen=True)
class Span:
    """Numbers that a search may try.

    Args:
        low, high: both belong to it.
        log: by their size, not by their difference.
    """

    low: float
    high: float
    log: bool = False


Space = Mapping[str, Span | tuple[Any, ...]]
"""What a search may try: setting -> a span, or values to choose from; a bare name is of the section `model`."""
GENERAL_SPACE: Space = {
    "optim.lr": Span(1e-3, 0.1, log=True),
    "optim.weight_decay": Span(1e-6, 1e-2, log=True),
    "data.normalize_features": ("row", "scaled", "none"),
}


@dataclass(frozen=True)
class ModelSettings:
    """Base of the settings of a model."""

    sections: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Values of `optim`, `train` and `data` that the model prefers to their general defaults."""

    space: ClassVar[Space] = GENERAL_SPACE
    """What `ansgt tune` tries."""


@dataclass(frozen=True)
class OptimSettings:
    """The optimizer and its schedule; the defaults are those of most full-batch baselines."""

    name: Literal["adam", "adamw"] = "adam"
    """Optimizer; adamw decays weights apart from the gradient."""
    lr: NonNegative = 0.01
    """Peak learning rate."""
    weight_decay: NonNegative = 5e-4
    """How strongly weights are pulled to 0."""
    beta1: Rate = 0.9
    """Decay of the running mean of the gradients."""
    beta2: Rate = 0.999
    """Decay of the running mean of their squares."""
    eps: Positive = 1e-8
    """Added to the root of that mean."""
    warmup_epochs: Size = 0
    """Epochs of linear warm-up from 0 to `lr` (section 6.1: 100)."""
    end_lr: NonNegative | None = None
    """Learning rate that a linear decay reaches at the last epoch (section 6.1: 1e-9); None keeps `lr` constant."""
    clip_norm: Positive | None = None
    """Gradients are scaled down to this norm; None leaves them alone."""


@dataclass(frozen=True)
class TrainSettings:
    """How long to train, and how the kept epoch is chosen: on validation alone."""

    epochs: Count = 1000
    """Most epochs of training."""
    patience: Size | None = 200
    """Stop after this many epochs without a better validation score; None never stops early."""
    eval_every: Count = 1
    """Epochs between two evaluations of the validation part."""
    select: Selected = "accuracy"
    """Validation score that picks the epoch (ties: lower loss): accuracy, loss, balanced_accuracy, macro_f1, roc_auc, brier,
    calibration_error, or official: what the data set's benchmark asks for."""
    class_weight: Literal["balanced"] | dict[Any, Any] | None = None
    """What a training node of each class counts in the loss, as in scikit-learn: balanced (n / (C n_c), so that every class
    counts alike) or class -> weight (1 where a class is not named), scaled so that the mean over the training part is 1."""
    calibrate: bool = False
    """Divides logits by a temperature after training, the one with the lowest loss on the validation part."""
    num_models: Few = 1
    """Models trained per split, from different seeds, each kept at its own best epoch; they predict by their mean."""


@dataclass(frozen=True)
class DataSettings:
    """What is done to the data before any model sees it."""

    normalize_features: Literal["row", "scaled", "none", "auto"] = "auto"
    """row: every feature row divided by its sum; scaled: the same times the mean sum, so that numbers keep their size; none:
    as they are; auto: row for words and counts (never negative; mostly zero or whole), else none; the record says which."""
    size_columns: bool = False
    """Appends columns that say how many features of a node are not zero."""
    link_features: Literal["none", "links", "auto"] = "none"
    """links: the model also sees to whom a node is linked, its row of A; auto: where the training labels speak for it."""
    link_dropout: Rate = 0.5
    """Share of a node's links that are dropped from these columns in training; features have a dropout of their own."""
    link_scale: Positive = 1.0
    """Value of a link in its column."""
    link_width: Count = 16_384
    """Most columns of links; with more nodes several share a column (hashed)."""


def check_multiple(settings: Any, whole: str, part: str) -> None:
    """Refuses settings of which `whole` is no multiple of `part`; for a `__post_init__`."""
    value, divisor = getattr(settings, whole), getattr(settings, part)
    if value % divisor:
        raise InputError(f"Setting {whole} must be a multiple of {part}={divisor}, not {value}.")


def hints(settings: type) -> dict[str, Any]:
    """The annotation of every field of a settings dataclass."""
    found = get_type_hints(settings, include_extras=True)
    return {field.name: found[field.name] for field in dataclasses.fields(settings)}


def values_of(settings: Any) -> dict[str, Any]:
    """Every setting of a dataclass instance by its name; the values themselves, not copies."""
    return {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}


def fitted(settings: type[T], values: Mapping[str, Any], section: str = "") -> T:
    """The dataclass with `values` in place of its defaults, every one checked against its annotation.

    >>> fitted(TrainSettings, {"epochs": 3.0}).epochs
    3
    """
    chosen = fit_values(settings, values, section)
    for field in dataclasses.fields(settings):  # type: ignore[arg-type]
        absent = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if absent and field.name not in chosen:
            raise InputError(f"Setting {_full(section, field.name)} is missing.")
    return settings(**chosen)


def fit_values(settings: type, values: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """Some settings of a dataclass, every one checked against its annotation."""
    if not isinstance(values, Mapping):
        raise InputError(f"Section {section} must be a mapping of settings, not {shown(values)}.")
    known = hints(settings)
    for name in values:
        if name not in known:
            raise unknown_name(f"{section} setting".strip(), brief(name), known)
    return {name: fit_value(_full(section, name), known[name], value) for name, value in values.items()}


def _full(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def fit_value(name: str, kind: Any, value: Any) -> Any:
    """A value as its annotation wants it: 3 where a float is wanted becomes 3.0.

    Args:
        name: of the setting, for the error.
        kind: the annotation: a plain type, `Annotated` with a `Range`, `Literal`, a union, a list or tuple of one kind,
            a dataclass, or a class or runtime-checkable protocol whose instances fit.
        value: what was given, from a file, the command line or Python.

    Raises:
        InputError: the value does not fit.

    >>> fit_value("lr", Positive, 1)
    1.0
    >>> fit_value("patience", Count | None, None) is None
    True
    """
    try:
        return _fit(name, kind, value)
    except _Misfit as misfit:
        raise InputError(str(misfit)) from None


class _Misfit(InputError):
    """A value that does not fit, and what was wanted in its place: a union asks for all that it takes."""

    def __init__(self, name: str, wanted: str, value: Any) -> None:
        super().__init__(f"Setting {name} must be {wanted}, not {shown(value)}.")
        self.wanted = wanted


def _fit(name: str, kind: Any, value: Any) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fit = _fit(name, arguments[0], value)
        for bound in arguments[1:]:
            if fit not in bound:
                raise _Misfit(name, bound.wanted(fit), value)
        return fit
    if origin in (Union, types.UnionType):
        return _fit_union(name, arguments, value)
    if value is None and kind is not Any:
        raise InputError(f"Setting {name} must not be null (None).")
    if origin is Literal:
        if not any(type(value) is type(choice) and value == choice for choice in arguments):
            raise _Misfit(name, f"one of {', '.join(map(str, arguments))}", value)
        return value
    if origin in (list, tuple):
        values = list(value) if isinstance(value, list | tuple) else [value]
        return origin(_fit(f"{name}[{at}]", arguments[0], one) for at, one in enumerate(values))
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, Mapping):
        return fitted(kind, value, name)
    return _fit_plain(name, origin or kind, value)


def _fit_union(name: str, kinds: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    wanted = []
    for kind in (kind for kind in kinds if kind is not type(None)):
        try:
            return _fit(name, kind, value)
        except _Misfit as misfit:
            wanted.append(misfit.wanted)
    raise _Misfit(name, " or ".join(wanted), value)


def _fit_plain(name: str, kind: Any, value: Any) -> Any:
    if kind is Any:
        return value
    wanted, fit = {
        bool: ("true or false", _as_bool),
        int: ("a whole number", _as_int),
        float: ("a number", _as_float),
        str: ("text", _as_text),
        type: ("a class", lambda given: given if isinstance(given, type) else None),
    }.get(kind, (f"of type {kind.__name__}", lambda given: _as_object(kind, given)))
    found = fit(value)
    if found is None:
        raise _Misfit(name, wanted, value)
    return found


def _as_object(kind: type, value: Any) -> Any:
    """An instance, not a class: a class has the methods of a protocol, too."""
    return value if isinstance(value, kind) and not isinstance(value, type) else None


def _as_bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _as_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _as_int(value: Any) -> int | None:
    """3, 3.0 and whole NumPy numbers; no truth value."""
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    number = _as_float(value) if isinstance(value, numbers.Real) else None
    if number is None or math.isinf(number):
        return None
    return int(number) if number == int(number) else None


def _as_float(value: Any) -> float | None:
    """Numbers but NaN, also as text: YAML reads 1e-3 as text."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(found) else found


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = LONGEST
_repr.maxlevel = 2


def shown(value: Any) -> str:
    """A value as an error shows it: on one line, cut where it is long.

    >>> shown("x" * 1000)[-5:]
    "xxxx'"
    """
    try:
        text = _repr.repr(value)
    except ValueError:  # an integer of five thousand digits has no decimal form
        text = f"a value of type {type(value).__name__}"
    return brief(" ".join(text.split()))


def brief(name: object) -> str:
    """A name for an error, cut where it is long; a file may give anything as a name."""
    text = name if isinstance(name, str) else shown(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
