"""The directive `settings-table`: every setting of a dataclass, with its type, its default and its meaning.

::

    ```{settings-table} ansgt.settings.TrainSettings
    ```

All of it is read from the dataclass: annotations, defaults, and the text under each field. With the option `:own:` settings
that the dataclass inherits are left out.
"""

import dataclasses
import importlib
import types
from collections.abc import Iterator
from inspect import get_annotations
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from docstrings import escaped
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, directives
from docutils.utils import new_document
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

from ansgt.settings import Range

PLAIN = {int: "whole number", float: "number", str: "text", bool: "true, false"}


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
    """A default as YAML has it.

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


def text_of(kind: type, name: str) -> str:
    """The text under a field, in the class that defines it."""
    for owner in kind.__mro__:
        if name in get_annotations(owner):
            found = ModuleAnalyzer.for_module(owner.__module__).find_attr_docs()
            return " ".join(found.get((owner.__qualname__, name), [])).strip()
    return ""


def rows_of(kind: type, own: bool = False) -> Iterator[tuple[str, str, str, str]]:
    """Name, type, default and meaning of every setting, or of those alone that `kind` itself adds."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        if not own or field.name in get_annotations(kind):
            default = field.default
            if default is dataclasses.MISSING and field.default_factory is not dataclasses.MISSING:
                default = field.default_factory()
            shown = "" if default is dataclasses.MISSING else value_in_words(default)
            yield field.name, in_words(hints[field.name]), shown, text_of(kind, field.name)


def _imported(path: str) -> Any:
    """A class by its dotted path, classes inside classes included."""
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


class SettingsTable(SphinxDirective):
    """See the module's text."""

    required_arguments = 1
    option_spec: ClassVar = {"own": directives.flag}

    def run(self) -> list[nodes.Node]:
        rows = list(rows_of(_imported(self.arguments[0]), "own" in self.options))
        return self._parsed(list_table(rows)) if rows else []

    def _parsed(self, text: str) -> list[nodes.Node]:
        """The nodes of a text in reST, whatever language the page is written in."""
        document = new_document(self.arguments[0], get_default_settings(Parser))
        document.settings.env = self.env
        Parser().parse(text, document)
        for message in document.findall(nodes.system_message):
            raise self.error(message.astext())
        return list(document.children)


def list_table(rows: list[tuple[str, str, str, str]]) -> str:
    """The table in reST."""
    lines = [".. list-table::", "   :header-rows: 1", "   :class: settings", ""]
    named = [(f"``{name}``", value, default, escaped(meaning)) for name, value, default, meaning in rows]
    for row in [("setting", "value", "default", "meaning"), *named]:
        lines += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(row)]
    return "\n".join(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("settings-table", SettingsTable)
    return {"parallel_read_safe": True}
