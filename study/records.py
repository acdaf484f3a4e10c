"""Where the study's records lie, and the logs of its searches, which are kept in one archive."""

import json
import tarfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results"
PAGE = FOLDER / "results.md"
SEARCHES = RESULTS / "search"
ARCHIVE = RESULTS / "search.tar.xz"
KINDS = ("uniform-60-20-20", "per-class-60-20-20")

Row = dict[str, Any]


def read_log(path: Path | str) -> list[Row]:
    """The lines of a search's log: of that file, or of the archived log of that name where there is no such file."""
    path = Path(path)
    if path.exists():
        return _rows(path.read_text())
    archived = archived_log(path.name)
    if archived is None:
        raise FileNotFoundError(f"No file {path}, and no log {path.name} in {ARCHIVE}.")
    return _rows(archived)


def archived_log(name: str) -> str | None:
    """The text of an archived log, or None where the archive has no such log."""
    with tarfile.open(ARCHIVE) as archive:
        if f"search/{name}" not in archive.getnames():
            return None
        member = archive.extractfile(f"search/{name}")
        return member.read().decode() if member else None


def unpacked_log(name: str) -> Path:
    """The file to continue a search in; what the archive has of it is written there first."""
    path = SEARCHES / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(archived_log(name) or "")
    return path


def _rows(text: str) -> list[Row]:
    return [json.loads(line) for line in text.splitlines()]
