"""`PrivateFolder`: where the record of a classifier lies while nobody has saved it."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Self

from ansgt.runs.folder import RunFolder


class PrivateFolder:
    """A temporary folder that goes when nobody holds this object; a forked child leaves its parent's alone."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ansgt-"))
        weakref.finalize(self, _remove, self.path, os.getpid())

    @classmethod
    def copy_of(cls, run: RunFolder) -> Self:
        """Holds what a run wrote, so that its folder may change, move or go."""
        own = cls()
        run.copy_to(own.path)
        return own

    @classmethod
    def unpacked(cls, files: dict[str, bytes]) -> Self:
        """Holds what `packed` returned."""
        own = cls()
        for name, content in files.items():
            path = own.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return own

    def packed(self) -> dict[str, bytes]:
        """All files by their path inside the folder."""
        found = (path for path in self.path.rglob("*") if path.is_file() and path.name != ".lock")
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in found}


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
