"""Raw files: found under a root that is never written to, checked against pinned sha256, copied to a cache."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from ansgt.errors import InputError
from ansgt.storage import content_hash, file_sha256, make_folder


@cache
def pinned_checksums() -> dict[str, str]:
    """sha256 of the published raw files, by path under the root (`checksums.sha256`, in sha256sum's format)."""
    lines = (Path(__file__).parent / "checksums.sha256").read_text().splitlines()
    return {path: digest for digest, path in (line.split(maxsplit=1) for line in lines)}


def find_raw(root: Path, folder: str, patterns: tuple[str, ...], name: str) -> list[Path]:
    """The raw files of a data set, or one sentence that says what was looked for and how to get it."""
    found: list[Path] = []
    for pattern in patterns:
        matches = sorted((root / folder).glob(pattern))
        if not matches and not pattern.startswith("*"):
            raise InputError(
                f"Data set '{name}': {root / folder / pattern} does not exist; put the raw files there, "
                "give another --root, or let `ansgt train --download` fetch them."
            )
        found += matches
    return found


def is_present(root: Path, folder: str, patterns: tuple[str, ...]) -> bool:
    return all(any((root / folder).glob(p)) for p in patterns if not p.startswith("*"))


def check_raw(root: Path, files: list[Path], allow_changed: bool) -> str:
    """Compares files with their pinned sha256, before anything reads them; returns a key of their content."""
    pinned = pinned_checksums()
    digests = {}
    for path in files:
        relative = path.relative_to(root).as_posix()
        digests[relative] = file_sha256(path)
        if not allow_changed and pinned.get(relative, digests[relative]) != digests[relative]:
            raise InputError(
                f"{path} is not the published file: sha256 {digests[relative][:12]}..., expected "
                f"{pinned[relative][:12]}...; `ansgt train --allow-changed-data` uses it all the same."
            )
    return content_hash(digests)[:16]


@contextmanager
def copied(root: Path, files: list[Path], target: Path) -> Iterator[Path]:
    """Yields a folder that holds copies of the files and becomes `target` when the block ends well."""
    make_folder(target.parent)
    temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tmp-"))
    try:
        for path in files:
            copy = temporary / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        yield temporary
        if not target.exists():
            try:
                os.replace(temporary, target)
            except OSError:  # another process was first; its folder has the same content
                if not target.exists():
                    raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def built(root: Path, files: list[Path], target: Path, build: Callable[[Path], object]) -> Path:
    """Runs `build` once in a copy of the raw files, so that PyG's processed files lie in `target`."""
    if not target.exists():
        with copied(root, files, target) as folder:
            build(folder)
    return target
