"""The figures of `docs/trust.md`: the commands that measure them store what they found here, and the table is made of that.

python tests/trust/figures.py    writes the table anew
"""

import fcntl
import json
import subprocess
import sys
from pathlib import Path

STORE = Path(__file__).with_name("figures.json")
PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
START, END = "<!-- figures -->\n", "<!-- end of figures -->\n"


def store(command: str, tried: str, found: str) -> None:
    """Keeps what a command found, in the place of what it found before; several processes may store at once."""
    with STORE.open("a+") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.seek(0)
        rows = json.loads(stream.read() or "{}")
        rows[command] = {"tried": tried, "found": found, "source": _source()}
        stream.truncate(0)
        stream.write(json.dumps(dict(sorted(rows.items())), indent=1) + "\n")


def _source() -> str:
    """The commit that was tried."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%h, %cs"], cwd=PAGE.parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "no commit"


def table() -> str:
    """The stored figures in Markdown."""
    rows = json.loads(STORE.read_text())
    lines = ["| command | tried | found | commit |", "|---|---|---|---|"]
    for command, row in rows.items():
        lines.append(f"| `{command}` | {row['tried']} | {row['found']} | {row['source']} |")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The page with the table of what is stored now."""
    before, rest = PAGE.read_text().split(START)
    return f"{before}{START}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    sys.exit(None if PAGE.write_text(page()) else 1)
