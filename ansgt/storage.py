"""Files that are either whole or absent: atomic writes, states without pickle, a lock, a cache keyed by content."""

import ctypes
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from ansgt.errors import BusyError, InputError
from ansgt.seal import is_sealed, seal

try:
    import fcntl
except ImportError:  # Windows has no fcntl; runs there are not locked
    fcntl = None  # type: ignore[assignment]

SEAL = "sha256"
"""Key under which a file keeps the hash of its own content."""
TEMPORARY = ".*.tmp"
"""What a killed process leaves of a file that it was writing."""


_HERE, _RENAME_EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""


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


def exchange(new: Path, target: Path) -> None:
    """Puts the folder `new` in the place of `target`; what was there is afterwards at `new`, to be removed.

    On Linux both change places at once; elsewhere, and on file systems that cannot, the older one is moved aside first.
    """
    if not target.exists():
        os.replace(new, target)
    elif not _exchanged(new, target):
        aside = new.with_name(f"{new.name}.older")
        os.replace(target, aside)
        os.replace(new, target)
        os.replace(aside, new)


def _exchanged(one: Path, other: Path) -> bool:
    """Whether renameat2(2) with RENAME_EXCHANGE did it."""
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    done: int = function(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _RENAME_EXCHANGE)
    return done == 0


def write_text(path: Path | str, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path | str, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=False, allow_nan=True) + "\n")


def read_json(path: Path | str) -> Any:
    path = Path(path)
    check_is_file(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"The file {path} does not exist.") from None
    except (ValueError, OSError, RecursionError, MemoryError):
        raise InputError(f"The file {path} is not valid JSON (truncated, damaged or unreadable).") from None


def check_is_file(path: Path) -> None:
    """Refuses what can be opened and is no file: a device has no end, and a pipe would be waited for."""
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a file.")


def write_sealed_json(path: Path | str, value: Mapping[str, Any]) -> None:
    """JSON with a sha256 of its own content, which `read_sealed_json` compares."""
    write_json(path, {**value, SEAL: _own_hash(value)})


def read_sealed_json(path: Path | str) -> dict[str, Any]:
    """What `write_sealed_json` wrote, or a JSON object without a seal; raises `InputError` where the content has changed."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"The file {path} must hold a JSON object, not {brief(repr(value))}.")
    stored = value.pop(SEAL, None)
    if stored is not None and stored != _own_hash(value):
        raise damaged(path)
    return value


def _own_hash(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def damaged(path: Path | str) -> InputError:
    return InputError(
        f"The file {path} is damaged or was edited: its sha256 is not the one that was stored with it."
    )


def brief(value: object, longest: int = 200) -> str:
    """A foreign text for an error: on one line, cut where it is long."""
    text = " ".join(str(value).split())
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def write_npz(path: Path | str, **arrays: np.ndarray) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as out:
        np.savez(out, **arrays)  # type: ignore[arg-type]


def save_state(path: Path, state: Any) -> None:
    """Stores nested dicts and lists of tensors and JSON values, atomically; tensors come back on the CPU.

    The header carries a sha256 of everything, which `load_state` compares.
    """
    tensors: dict[str, Tensor] = {}
    header = json.dumps(_encode(state, "", tensors))
    with atomic_path(path) as temporary:
        # under one key: safetensors writes several in an order that changes from run to run
        metadata = {"sealed": json.dumps([_digest(header, tensors), header])}
        save_file(tensors, str(temporary), metadata=metadata)


def load_state(path: Path) -> Any:
    """What `save_state` stored; raises `InputError` for a truncated, damaged or foreign file."""
    check_is_file(path)
    try:
        with safe_open(str(path), framework="pt") as stored:
            tensors = {key: stored.get_tensor(key) for key in stored.keys()}  # noqa: SIM118
            metadata = stored.metadata()
            # files of version 0.1 have no hash
            stored_hash, header = (
                json.loads(metadata["sealed"]) if "sealed" in metadata else (None, metadata["state"])
            )
            state = _decode(json.loads(header), tensors)
    except FileNotFoundError:
        raise InputError(f"The checkpoint {path} does not exist.") from None
    except Exception as error:  # whatever parsing raises
        raise InputError(
            f"The checkpoint {path} is truncated or not one of ansgt's: {brief(error)}."
        ) from None
    if stored_hash is not None and stored_hash != _digest(header, tensors):
        raise damaged(path)
    return state


def _digest(header: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(header.encode())
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        digest.update(f"{name}{value.dtype}{tuple(value.shape)}".encode())
        digest.update(value.flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _encode(value: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous().clone()
        return {"tensor": name}
    if isinstance(value, dict):
        # pairs, because an optimizer's state has integer keys and JSON objects do not
        return {"dict": [[k, _encode(v, f"{name}/{k}", tensors)] for k, v in value.items()]}
    if isinstance(value, list | tuple):
        return {"list": [_encode(v, f"{name}/{i}", tensors) for i, v in enumerate(value)]}
    if value is None or isinstance(value, bool | int | float | str):
        return {"plain": value}
    raise TypeError(f"cannot store a {type(value).__name__} at {name}")


def _decode(header: Any, tensors: dict[str, Tensor]) -> Any:
    (kind, value), *_ = header.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "dict":
        return {key: _decode(item, tensors) for key, item in value}
    if kind == "list":
        return [_decode(item, tensors) for item in value]
    return value


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
    """Hex sha256 of a file; raises `InputError` where it cannot be read."""
    check_is_file(path)
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"The file {path} cannot be read: {error.strerror}.") from None


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
        if not isinstance(directory, str | os.PathLike | None):
            raise InputError(f"The folder of a cache is a path, not {brief(repr(directory))}.")
        self.directory = None if directory is None else Path(directory)

    def fetch(
        self, kind: str, key: Any, compute: Callable[[], dict[str, np.ndarray]]
    ) -> dict[str, np.ndarray]:
        """Returns the arrays stored under (kind, key), computing and storing them when absent or not to be trusted.

        A file counts if this user sealed its key and content (`ansgt.seal`). Where nothing can be written,
        what was computed is returned all the same.
        """
        if self.directory is None:
            return compute()
        name = content_hash(key)
        path = self.directory / kind / f"{name[:32]}.sealed.npz"
        stored = _read_trusted(path, name)
        if stored is not None:
            return stored
        arrays = compute()
        try:
            write_npz(path, **arrays, **{SEAL: np.array(seal(content_hash(name, arrays)))})
        except (OSError, InputError) as error:
            warnings.warn(
                f"The cache {self.directory} cannot be written ({brief(error)}); going on without it.",
                stacklevel=2,
            )
        return arrays


def _read_trusted(path: Path, name: str) -> dict[str, np.ndarray] | None:
    """The arrays of a file of the cache, or None where it is absent, damaged or somebody else's."""
    try:
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as stored:
            arrays = {key: stored[key] for key in stored.files}
        claimed = str(arrays.pop(SEAL, ""))
    except Exception:  # a damaged cache file is only lost time
        return None
    return arrays if is_sealed(content_hash(name, arrays), claimed) else None


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
