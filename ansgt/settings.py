"""Typed settings: a setting's annotation says its type, its range and its choices, and the same annotation checks a value.

::

    @dataclass(frozen=True)
    class Settings:
        hidden_channels: Count = 128
        dropout: Rate = 0.5
        kernel: Literal["auto", "plain"] = "auto"
        clip_norm: Positive | None = None

`fitted(Settings, {"dropout": 2})` raises `InputError`: "Setting dropout must be in [0, 1), not 2."
"""

import dataclasses
import math
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from ansgt.errors import InputError, unknown_name

T = TypeVar("T")
LONGEST = 80
"""Characters of a wrong value that an error shows."""


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`; an open end does not belong to it."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below and math.isfinite(value)

    def __str__(self) -> str:
        if self.high == math.inf:
            bound = f"greater than {self.low:g}" if self.open_low else f"at least {self.low:g}"
            return bound if self.low > -math.inf else "finite"
        left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"in {left}{self.low:g}, {self.high:g}{right}"


Count = Annotated[int, Range(1, 2**31)]
"""A whole number from 1."""
Size = Annotated[int, Range(0, 2**31)]
"""A whole number from 0."""
Seed = Annotated[int, Range(0, 2**63 - 1)]
Number = Annotated[float, Range()]
"""A finite number."""
Positive = Annotated[float, Range(0, open_low=True)]
NonNegative = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
Rate = Annotated[float, Range(0, 1, open_high=True)]
"""A share that must leave something: of a dropout, of a moving average."""
Fraction = Annotated[float, Range(0, 1, open_low=True)]


def hints(settings: type) -> dict[str, Any]:
    """The annotation of every field of a settings dataclass."""
    found = get_type_hints(settings, include_extras=True)
    return {field.name: found[field.name] for field in dataclasses.fields(settings)}


def defaults(settings: type) -> dict[str, Any]:
    """Every setting of a dataclass with its default."""
    return dataclasses.asdict(settings())


def fitted(settings: type[T], values: Mapping[str, Any], section: str = "") -> T:
    """The dataclass with `values` in place of its defaults, every one checked against its annotation."""
    known = hints(settings)
    for name in values:
        if name not in known:
            raise unknown_name(f"{section} setting".strip(), name, known)
    prefix = f"{section}." if section else ""
    return settings(**{name: fit_value(prefix + name, known[name], value) for name, value in values.items()})


def fit_value(name: str, kind: Any, value: Any) -> Any:
    """A value as its annotation wants it (3 where a float is wanted becomes 3.0), or one sentence.

    >>> fit_value("lr", Positive, 1)
    1.0
    >>> fit_value("patience", Count | None, None) is None
    True
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        value = fit_value(name, arguments[0], value)
        for bound in arguments[1:]:
            if value not in bound:
                raise InputError(f"Setting {name} must be {bound}, not {shown(value)}.")
        return value
    if origin in (Union, types.UnionType):
        return _fit_union(name, arguments, value)
    if origin is Literal:
        if value not in arguments:
            raise InputError(
                f"Setting {name} must be one of {', '.join(map(str, arguments))}, not {shown(value)}."
            )
        return value
    if origin in (list, tuple):
        values = list(value) if isinstance(value, list | tuple) else [value]
        return origin(fit_value(f"{name}[{at}]", arguments[0], one) for at, one in enumerate(values))
    return _fit_plain(name, kind, value)


def _fit_union(name: str, kinds: tuple[Any, ...], value: Any) -> Any:
    if value is None:
        if type(None) in kinds:
            return None
        raise InputError(f"Setting {name} must not be null.")
    problems = []
    for kind in (kind for kind in kinds if kind is not type(None)):
        try:
            return fit_value(name, kind, value)
        except InputError as error:
            problems.append(error)
    raise problems[0]


def _fit_plain(name: str, kind: Any, value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is bool:
        wanted, fits = "true or false", isinstance(value, bool)
    elif kind is int:
        wanted, fits = "a whole number", is_number and math.isfinite(value) and value == int(value)
    elif kind is float:
        wanted, fits = "a number", _is_float(value)
    elif kind is str:
        wanted, fits = "text", isinstance(value, str)
    else:
        return value
    if not fits:
        raise InputError(f"Setting {name} must be {wanted}, not {shown(value)}.")
    return kind(value)


def _is_float(value: Any) -> bool:
    """Whether `float(value)` is meant: YAML reads 1e-3 as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        float(value)
    except (ValueError, OverflowError):
        return False
    return True


def shown(value: Any) -> str:
    """A value as an error shows it, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of five thousand digits has no decimal form
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
