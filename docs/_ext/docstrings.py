"""Docstrings are plain text with a little reST; what reST would read into the plain text is kept from it."""

import re
from functools import cached_property
from types import FunctionType
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole

BARS = re.compile(r"\|([^\s|`][^|`]*)\|")
LETTER = re.compile(r"(^\s*|: )([A-Za-z])\.$")
COLON = "\ue000"
"""In place of a colon that napoleon would take for the end of a type."""


def escaped(line: str) -> str:
    r"""A line whose bars name no substitution and whose single letter is no item of a list, unless it is code.

    >>> escaped("[2 |E|], and `a | b | c`")
    '[2 \\|E\\|], and `a | b | c`'
    >>> escaped("num_classes: C."), escaped(">>> a |b| c")
    ('num_classes: C\\.', '>>> a |b| c')
    """
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = re.split(r"(`+[^`]*`+)", LETTER.sub(r"\1\2\\.", line))
    return "".join(part if part.startswith("`") else BARS.sub(r"\\|\1\\|", part) for part in parts)


class Name(PyXRefRole):
    """`Graph` links to its page, where there is one; `.npz` and `lr=0.1` are code as they are."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not re.fullmatch(r"[A-Za-z_][\w.]*", self.text):
            return [nodes.literal(self.rawtext, self.text)], []
        self.name = "py:obj"
        return super().run()


def _before_napoleon(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = map(escaped, lines)
    if what in ("attribute", "data", "property"):
        lines[:] = [line.replace(": ", f"{COLON} ") for line in lines]


def _after_napoleon(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [line.replace(COLON, ":") for line in lines]


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Methods and properties are shown without a docstring too; fields of a dataclass stand among its arguments.

    What scikit-learn adds to an estimator for its routing of metadata is left to its own pages, to whose terms it links.
    """
    if re.fullmatch(r"set_\w+_request", name):
        return True
    is_shown = isinstance(obj, FunctionType | property | cached_property) and not name.startswith("_")
    return False if skip and is_shown else None


def _on_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types without their ranges: the tables of settings have those."""
    if signature is not None:
        signature = re.sub(r"~?(?:typing\.)?Annotated\[([^,\[\]]+), [^\[\]]*\]", r"\1", signature)
        signature = signature.replace("<factory>", "...")
    return signature, returned


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("name", Name())
    app.connect("autodoc-process-docstring", _before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", _after_napoleon, priority=600)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _on_signature)
    return {"parallel_read_safe": True}
