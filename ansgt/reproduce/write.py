"""The files of an item: Markdown, CSV, LaTeX, JSON and pictures; all from records, and what is missing by name."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansgt.plotting import figure
from ansgt.reproduce.item import Item, Picture, Shown
from ansgt.reproduce.records import Record, Records
from ansgt.reproduce.tables import as_dict, csv_text, latex, markdown, seconds_of
from ansgt.reproduce.task import Setup
from ansgt.storage import make_folder, write_json, write_text

RECORD_HEADS = ("record", "split", "splits", "models per split", "seconds", "machine", "commit", "date")
"""What `record_row` says of a record."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """An item and what came of it.

    Args:
        item: the item.
        shown: tables, remarks, pictures.
        used: the records behind them.
        missing: path of a record that is not there -> about how many seconds on one core it would take.
        setup: what was asked for.
    """

    item: Item
    shown: Shown
    used: Sequence[Record]
    missing: dict[str, float]
    setup: Setup

    @property
    def command(self) -> str:
        return command(self.item, self.setup)

    @property
    def training(self) -> str:
        """What makes the missing records."""
        return f"{command(self.item, self.setup, self.item.made_by or self.item.name)} --train"

    @property
    def hours(self) -> float:
        return sum(self.missing.values()) / 3600


def command(item: Item, setup: Setup, name: str = "") -> str:
    """What makes this item again, or what has another name."""
    parts = ["ansgt reproduce", name or item.name]
    if setup.preset != "shipped" and item.has_presets:
        parts.append(f"--preset {setup.preset}")
    if setup.split != Setup.split:
        parts.append(f"--split {setup.split}")
    if setup.quick:
        parts.append("--quick")
    if setup.large:
        parts.append("--large")
    return " ".join(parts)


def outcome(item: Item, folder: Path, setup: Setup) -> Outcome:
    """Reads the records of an item."""
    records = Records(folder)
    shown = item.show(records, setup)
    return Outcome(item, shown, list(records), dict(records.missing), setup)


def write_item(found: Outcome, out: Path) -> list[Path]:
    """Writes all files of an item; returns them."""
    make_folder(out)
    name = found.item.name
    pictures = [one for suffix in ("png", "svg") for one in picture_files(found, out, suffix)]
    for picture, path in pictures:
        draw(picture, path)
    write_text(out / f"{name}.md", page(found, [path.name for _, path in pictures if path.suffix == ".png"]))
    write_text(out / f"{name}.csv", csv_text([*found.shown.tables, *found.shown.behind]))
    write_text(out / f"{name}.tex", "\n".join(map(latex, found.shown.tables)))
    write_json(out / f"{name}.json", as_json(found))
    return [*(out / f"{name}.{suffix}" for suffix in ("md", "csv", "tex", "json")), *(p for _, p in pictures)]


def picture_files(found: Outcome, out: Path, suffix: str) -> list[tuple[Picture, Path]]:
    """The pictures of an item and where they go."""
    name = found.item.name
    return [
        (picture, out / f"{name}{f'-{number}' if number > 1 else ''}.{suffix}")
        for number, picture in enumerate(found.shown.pictures, 1)
    ]


def draw(picture: Picture, path: Path) -> None:
    with figure(path, picture.width, picture.height, picture.columns) as axes:
        picture.draw(axes)


def missing_words(found: Outcome) -> str:
    """One sentence on what is missing, with names and hours; "" where nothing is."""
    if not found.missing:
        return ""
    names = ", ".join(list(found.missing)[:3])
    more = f" and {len(found.missing) - 3} more" if len(found.missing) > 3 else ""
    count = "1 record is" if len(found.missing) == 1 else f"{len(found.missing)} records are"
    return (
        f"{count} missing ({names}{more}); making what is missing takes about "
        f"{found.hours:.1f} hours on one core: {found.training}"
    )


def page(found: Outcome, pictures: Sequence[str]) -> str:
    """The item in Markdown."""
    item = found.item
    parts = [f"# {item.place}: {item.title}", f"`{found.command}`"]
    parts += [
        f"![{picture.words}]({name})" for picture, name in zip(found.shown.pictures, pictures, strict=True)
    ]
    parts += [markdown(table) for table in found.shown.tables]
    parts += list(found.shown.remarks)
    if found.missing:
        parts.append(missing_words(found) + ".")
    parts.append(f"Records ({len(found.used)}), of {', '.join(machines(found)) or 'no machine'}:")
    lines = [f"| {' | '.join(RECORD_HEADS)} |", "|" + "---|" * len(RECORD_HEADS)]
    lines += [f"| {' | '.join(record_row(record))} |" for record in found.used]
    parts.append("\n".join(lines))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def machines(found: Outcome) -> list[str]:
    return list(dict.fromkeys(record.machine for record in found.used))


def record_row(record: Record) -> list[str]:
    """What a reader may want to know of a record."""
    content = record.content
    splits = content.get("splits", [])
    models = str(record.cell.num_models) if splits else "-"
    seconds = seconds_of(content)
    return [
        f"`{record.path}`" + (" (quick)" if record.quick else ""),
        str(content.get("split", "-")),
        str(len(splits) or "-"),
        models,
        "-" if seconds is None else f"{seconds:g}",
        record.machine,
        str(content.get("commit") or "-"),
        str(content.get("date") or "-"),
    ]


def heading(found: Outcome) -> dict[str, str]:
    """What an item is, and what makes it."""
    item = found.item
    return {"name": item.name, "place": item.place, "title": item.title, "command": found.command}


def as_json(found: Outcome) -> dict[str, Any]:
    """Everything about an item."""
    return {
        **heading(found),
        "numbers": [
            as_dict(table, *number)
            for table in (*found.shown.tables, *found.shown.behind)
            for number in table.numbers()
        ],
        "tables": [
            {
                "title": t.title,
                "unit": t.unit,
                "head": list(t.head),
                "rows": [[t.words(e) for e in r] for r in t.rows],
            }
            for t in found.shown.tables
        ],
        "remarks": list(found.shown.remarks),
        "records": [record.path for record in found.used],
        "machines": machines(found),
        "missing": list(found.missing),
        "missing_hours": round(found.hours, 2),
    }
