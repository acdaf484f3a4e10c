"""The Python blocks of a Markdown page."""

import re
from typing import NamedTuple

BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>.*?) -->\s*)?```python\n(?P<code>.*?)```", re.DOTALL)


class Block(NamedTuple):
    """Code of a page, moved to its line, so that a traceback shows where it stands."""

    code: str
    reason: str | None


def python_blocks(text: str) -> list[Block]:
    """Every Python block of a page, in order.

    >>> python_blocks("a\\n```python\\nx = 1\\n```\\n")[0].code
    '\\n\\nx = 1\\n'
    """
    found = BLOCK.finditer(text)
    return [
        Block("\n" * text.count("\n", 0, match.start("code")) + match["code"], match["reason"])
        for match in found
    ]
