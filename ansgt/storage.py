"""Files that are either whole or absent: atomic writes, a run lock, and a cache keyed by content."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ansgt.errors import BusyError, InputError

try:
    import fcntl
except ImportError:  # Windows has no fcntl; runs there are not locked
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_path(path: Path | str) -> Iterator[Path]:
    """Yields a temporary path beside `path`; renames it to `path` when the block ends well."""
    path = Path(path)
    make_folder(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(path: Path | str) -> Path:
    """Creates a folder with its parents, or says in one sentence why it cannot."""
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot create the folder {path}: {error.strerror}.") from None
    if not os.access(path, os.W_OK):
        raise InputError(f"The folder {path} is not writable.")
    return path


def write_text(path: Path | str, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=False, allow_nan=True) + "\n")


def read_json(path: Path | str) -> Any:
    path = Path(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"The file {path} does not exist.") from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise InputError(f"The file {path} is not valid JSON (truncated or damaged).") from None


def write_npz(path: Path | str, **arrays: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as out:
        np.savez(out, **arrays)  # type: ignore[arg-type]


def content_hash(*parts: Any) -> str:
    """Hex sha256 of arrays, strings, numbers, and nested lists / dicts of them; independent of object identity.

    >>> content_hash(np.arange(3), {"k": 5}) == content_hash(np.arange(3), {"k": 5})
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).data)
        elif isinstance(part, Mapping):
            for key in sorted(part):
                digest.update(content_hash(str(key), part[key]).encode())
        elif isinstance(part, list | tuple):
            digest.update(f"[{len(part)}]".encode())
            digest.update(content_hash(*part).encode())
        else:
            digest.update(f"{type(part).__name__}:{part!r};".encode())
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def default_cache_dir() -> Path:
    """`$ANSGT_CACHE`, else `$XDG_CACHE_HOME/ansgt`, else `~/.cache/ansgt`."""
    if "ANSGT_CACHE" in os.environ:
        return Path(os.environ["ANSGT_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "ansgt"


class DiskCache:
    """Arrays on disk under a content key, so that a second run starts at once.

    Args:
        directory: where the files go; ``None`` switches the cache off.

    >>> import tempfile
    >>> cache = DiskCache(tempfile.mkdtemp())
    >>> cache.fetch("square", ["v1", 3], lambda: {"value": np.array(9)})["value"].item()
    9
    """

    def __init__(self, directory: Path | str | None) -> None:
        self.directory = None if directory is None else Path(directory)

    def fetch(
        self, kind: str, key: Any, compute: Callable[[], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Returns the arrays stored under (kind, key), computing and storing them when absent or damaged."""
        if self.directory is None:
            return compute()
        path = self.directory / kind / f"{content_hash(key)[:32]}.npz"
        if path.exists():
            try:
                with np.load(path, allow_pickle=False) as stored:
                    return {name: stored[name] for name in stored.files}
            except Exception:
                path.unlink(missing_ok=True)  # a damaged cache file is only lost time
        arrays = compute()
        write_npz(path, **arrays)
        return arrays


@contextmanager
def folder_lock(folder: Path | str) -> Iterator[None]:
    """Holds an exclusive lock on a folder; a second process gets a `BusyError` at once."""
    folder = make_folder(folder)
    with (folder / ".lock").open("a+") as stream:
        if fcntl is not None:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BusyError(f"The run directory {folder} is in use by another process.") from None
        yield
