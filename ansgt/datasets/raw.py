"""Raw files: found under a root that is never written to, checked against pinned sha256, parsed in a copy."""

import hashlib
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from ansgt.errors import InputError, reason
from ansgt.storage import content_hash, file_sha256

PICKLED = "ind.*"
"""Raw files that PyG unpickles: Planetoid's, but for the list of test nodes, which is text."""
OF_ARRAYS = {
    "__builtin__": ("list",),
    "builtins": ("list",),
    "collections": ("defaultdict",),
    "numpy": ("ndarray", "dtype"),
    "numpy.core.multiarray": ("_reconstruct",),
    "numpy._core.multiarray": ("_reconstruct",),
    "scipy.sparse.csr": ("csr_matrix",),
    "scipy.sparse._csr": ("csr_matrix",),
    "_codecs": ("encode",),
}
"""What a pickle of arrays, matrices and lists names."""


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


@dataclass(frozen=True)
class RawFiles:
    """Raw files that were checked, by their sha256: what is read later is compared with it.

    Args:
        root: the folder that they lie under.
        digests: path under the root -> sha256.
    """

    root: Path
    digests: dict[str, str]

    @cached_property
    def key(self) -> str:
        """A key of their content."""
        return content_hash(self.digests)[:16]

    def read(self, relative: str) -> bytes:
        """The content of a file: the very bytes that have the sha256."""
        content = (self.root / relative).read_bytes()
        self._compare(relative, hashlib.sha256(content).hexdigest())
        return content

    @contextmanager
    def copied(self) -> Iterator[Path]:
        """Yields a new folder of this process alone that holds copies of the files, each one checked."""
        with tempfile.TemporaryDirectory(prefix="ansgt-raw-", ignore_cleanup_errors=True) as name:
            folder = Path(name)
            for relative in self.digests:
                copy = folder / relative
                try:
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(self.root / relative, copy)
                except OSError as error:
                    raise InputError(
                        f"Cannot copy {self.root / relative} to {copy}: {reason(error)}; "
                        "the variable TMPDIR names another folder."
                    ) from None
                self._compare(relative, file_sha256(copy))
            yield folder

    def _compare(self, relative: str, digest: str) -> None:
        if digest != self.digests[relative]:
            raise InputError(f"{self.root / relative} changed while it was read.")


def check_raw(root: Path, files: list[Path], allow_changed: bool) -> RawFiles:
    """Compares files with their pinned sha256, before anything parses them."""
    pinned = pinned_checksums()
    digests = {}
    for path in files:
        relative = path.relative_to(root).as_posix()
        if not path.is_file():
            raise InputError(f"The raw file {path} is not a file.")
        try:
            digests[relative] = file_sha256(path)
        except OSError as error:
            raise InputError(f"Cannot read the raw file {path}: {reason(error)}.") from None
        if not allow_changed and pinned.get(relative, digests[relative]) != digests[relative]:
            raise InputError(
                f"{path} is not the published file: sha256 {digests[relative][:12]}..., expected "
                f"{pinned[relative][:12]}...; `ansgt train --allow-changed-data` uses it all the same."
            )
        pickled = path.match(PICKLED) and path.suffix != ".index"
        if pickled and pinned.get(relative) != digests[relative]:
            _check_pickle(path, digests[relative])
    return RawFiles(root, digests)


def _check_pickle(path: Path, digest: str) -> None:
    """Refuses a pickle that is not the published one where it names anything else than arrays, matrices and lists."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(f"{path} changed while it was read.")
    try:
        _ArraysAlone(BytesIO(content), encoding="latin1").load()
    except Exception as error:  # whatever unpickling raises
        raise InputError(
            f"{path} is not the published file, and no pickle of arrays alone: {reason(error)}."
        ) from None


class _ArraysAlone(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in OF_ARRAYS.get(module, ()):
            raise InputError(f"it names {module[:80]}.{name[:80]}")
        return super().find_class(module, name)
