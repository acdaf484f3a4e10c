"""The directive `settings-table`: every setting of a dataclass, with its type, its default and its meaning.

::

    ```{settings-table} ansgt.settings.TrainSettings
    ```

All of it is read from the dataclass: annotations, defaults, and the text under each field. With the option `:own:` settings
that the dataclass inherits are left out.
"""

import importlib
from collections.abc import Iterable
from typing import Any, ClassVar

from docstrings import escaped
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser, directives
from docutils.utils import new_document
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from ansgt.descriptions import Description, described


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
        rows = list(described(_imported(self.arguments[0]), "own" in self.options))
        return self._parsed(list_table(rows)) if rows else []

    def _parsed(self, text: str) -> list[nodes.Node]:
        """The nodes of a text in reST, whatever language the page is written in."""
        document = new_document(self.arguments[0], get_default_settings(Parser))
        document.settings.env = self.env
        Parser().parse(text, document)
        for message in document.findall(nodes.system_message):
            raise self.error(message.astext())
        return list(document.children)


def list_table(rows: Iterable[Description]) -> str:
    """The table in reST.

    >>> print(list_table([Description("lr", "number, at least 0", "0.01", "Peak learning rate.")]))
    .. list-table::
       :header-rows: 1
       :class: settings
    <BLANKLINE>
       * - setting
         - value
         - default
         - meaning
       * - ``lr``
         - number, at least 0
         - 0.01
         - Peak learning rate.
    """
    lines = [".. list-table::", "   :header-rows: 1", "   :class: settings", ""]
    named = [(f"``{row.name}``", row.takes, row.default, escaped(row.help)) for row in rows]
    for cells in [("setting", "value", "default", "meaning"), *named]:
        lines += [f"   {'*' if at == 0 else ' '} - {cell}" for at, cell in enumerate(cells)]
    return "\n".join(lines)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("settings-table", SettingsTable)
    return {"parallel_read_safe": True}
