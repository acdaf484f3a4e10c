"""Links from a page to a file outside docs/, such as [log](../study/log.md).

On a forge they work as they are. In the built site they lead to the repository, where its address is known; elsewhere the
path is shown in place of a link.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)\s]+)\)")


def rewritten(text: str, repository: str) -> str:
    """A page with its links out of docs/ replaced.

    >>> rewritten("see the [log](../study/log.md).", "https://example.org/ansgt")
    'see the [log](https://example.org/ansgt/blob/main/study/log.md).'
    >>> rewritten("see the [log](../study/log.md).", "")
    'see the log (`study/log.md`).'
    >>> rewritten("see [`study/`](../study/README.md).", "")
    'see `study/README.md`.'
    """

    def replace(found: re.Match[str]) -> str:
        words, path = found.groups()
        if repository:
            return f"[{words}]({repository}/blob/main/{path})"
        return f"`{path}`" if words.startswith("`") else f"{words} (`{path}`)"

    return LINK.sub(replace, text)


def _on_read(app: Sphinx, page: str, source: list[str]) -> None:
    if Path(app.env.doc2path(page)).suffix == ".md":
        source[0] = rewritten(source[0], app.config.repository_address)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("repository_address", "", "env", str)
    app.connect("source-read", _on_read)
    return {"parallel_read_safe": True}
