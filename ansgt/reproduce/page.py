"""One HTML page of all items: tables, figures and claims, each with its command. It needs no network and no other file."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from ansgt.plotting import printable
from ansgt.report.page import packaged_text, policy, template
from ansgt.reproduce.claim import VERDICTS
from ansgt.reproduce.claims import Claims
from ansgt.reproduce.tables import Entry, Table
from ansgt.reproduce.write import RECORD_HEADS, Outcome, heading, missing_words, picture_files, record_row
from ansgt.storage import write_text

PIXELS = 96
"""Per inch, as browsers count."""


def write_page(found: Sequence[Outcome], out: Path, command: str) -> Path:
    """Writes `index.html` beside the files of the items, whose pictures it holds.

    Args:
        command: what makes the page.
    """
    style = packaged_text("ansgt.reproduce", "templates/paper.css")
    page = template("ansgt.reproduce", "paper.html").render(
        items=[_item(one, out) for one in found],
        heads=RECORD_HEADS,
        summary=next((str(one.shown.remarks[0]) for one in found if isinstance(one.item, Claims)), ""),
        command=command,
        policy=policy([], style, images=True),
        style=Markup(style),
    )
    path = out / "index.html"
    write_text(path, printable(page) + "\n")
    return path


def _item(found: Outcome, out: Path) -> dict[str, Any]:
    return {
        **heading(found),
        "pictures": [
            {"source": _data(path), "words": picture.words, "width": round(PIXELS * picture.width)}
            for picture, path in picture_files(found, out, "svg")
        ],
        "tables": [_table(table) for table in found.shown.tables],
        "remarks": [remark.replace("`", "") for remark in found.shown.remarks],
        "missing": missing_words(found),
        "behind": [_behind(table) for table in found.shown.behind],
        "records": [[value.strip("`") for value in record_row(record)] for record in found.used],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "head": table.head,
        "rows": [[_cell(table, entry) for entry in row] for row in table.rows],
        "sentences": bool(table.widths),
        "has_paper": table.has_paper,
        "unit": f"unit: {table.unit or '1'}",
        "legend": table.notes(),
    }


def _cell(table: Table, entry: Entry) -> dict[str, str]:
    if isinstance(entry, str):
        kind = f"verdict {entry.replace(' ', '-')}" if entry in VERDICTS else ""
        return {"words": entry, "kind": kind, "record": "", "paper": ""}
    kinds = ["number", *(["best"] if entry.best else []), *(["missing"] if entry.value is None else [])]
    gap = "" if entry.difference is None else f" ({entry.difference:+,.{table.digits}f})"
    record = entry.record if entry.source is not None else f"missing: {entry.record}"
    return {
        "words": table.ours(entry),
        "kind": " ".join(kinds),
        "record": record,
        "paper": f"{table.printed(entry)}{gap}" if entry.paper is not None else "",
    }


def _behind(table: Table) -> dict[str, Any]:
    rows = [
        {"name": name, "words": table.ours(number), "record": number.record}
        for name, _, number in table.numbers()
    ]
    return {"title": f"{table.title} ({len(rows)} numbers)", "rows": rows}


def _data(path: Path) -> str:
    """A picture as a part of the page."""
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"
