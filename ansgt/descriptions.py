"""Settings in words: what a setting takes, its default as YAML has it, and the line of help under its field.

`ansgt settings`, and the tables of the documentation's pages, are made of these.
"""

import ast
import dataclasses
import functools
import inspect
import textwrap
import types
from collections.abc import Iterator
from itertools import pairwise
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from ansgt.settings import Range, hints

PLAIN = {int: "whole number", float: "number", str: "text", bool: "true, false"}


@dataclasses.dataclass(frozen=True)
class Description:
    """One setting.

    Args:
        name: of the setting.
        takes: its type and range.
        default: as YAML has it; "" where there is none.
        help: what it is.
    """

    name: str
    takes: str
    default: str
    help: str


def described(kind: type, own: bool = False) -> Iterator[Description]:
    """Every setting of a dataclass, or those alone that `kind` itself adds."""
    known = hints(kind)
    for field in dataclasses.fields(kind):
        if not own or field.name in inspect.get_annotations(kind):
            default = field.default
            if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            shown = "" if default is dataclasses.MISSING else value_in_words(default)
            yield Description(field.name, in_words(known[field.name]), shown, help_of(kind, field.name))


def in_words(kind: Any) -> str:
    """An annotation as a reader of a settings file wants it.

    >>> from ansgt.settings import Count, Rate
    >>> in_words(Count), in_words(Rate | None), in_words(Literal["row", "none"])
    ('whole number, at least 1', 'number in [0, 1) or null', 'row, none')
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated and isinstance(arguments[1], Range):
        return in_words(arguments[0]) + _range_in_words(arguments[1])
    if origin is Annotated:  # a name from a registry, or an object
        return str(arguments[1].wanted(None)).removeprefix("one of ")
    if origin is Literal:
        return ", ".join(map(str, arguments))
    if origin in (Union, types.UnionType):
        words = [in_words(one) for one in arguments if one is not type(None)]
        return " or ".join([*words, "null"] if type(None) in arguments else words)
    if origin in (list, tuple):
        return f"list of {in_words(arguments[0])}"
    return PLAIN.get(kind, f"an object ({getattr(kind, '__name__', kind)})")


def _range_in_words(bound: Range) -> str:
    low, high = bound.low, bound.high
    if high < 1e9:
        left, right = "(" if bound.open_low else "[", ")" if bound.open_high else "]"
        return f" in {left}{low:g}, {high:g}{right}"
    if low > -1e9:
        return f", above {low:g}" if bound.open_low else f", at least {low:g}"
    return ""


def value_in_words(value: Any) -> str:
    """A value as YAML has it.

    >>> value_in_words(None), value_in_words(True), value_in_words(("knn", "ppr")), value_in_words(1e-8)
    ('null', 'true', '[knn, ppr]', '1e-08')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_in_words, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def help_of(kind: type, name: str) -> str:
    """The text under a field, on one line; where a class changes a default alone, that of the class it inherits from.

    >>> from ansgt.settings import TrainSettings
    >>> help_of(TrainSettings, "patience")
    'Stop after this many epochs without a better validation score; None never stops early.'
    """
    return next((text for owner in kind.__mro__ if (text := _texts(owner).get(name))), "")


@functools.cache
def _texts(kind: type) -> dict[str, str]:
    """The text under every field that a class itself adds; none where its source is not there."""
    try:
        (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, ValueError, SyntaxError):  # a class of a notebook, a bare interpreter
        return {}
    found: dict[str, str] = {}
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
        ):
            words = text.value.value if isinstance(text.value, ast.Constant) else None
            if isinstance(words, str):
                found[field.target.id] = " ".join(words.split())
    return found
