"""A foreign `.npz`: what it declares is checked before it is allocated, so that kilobytes cannot fill the memory."""

import struct
import zipfile
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch

from ansgt.device import available_bytes
from ansgt.errors import InputError, reason

LARGE, SWOLLEN = 2**28, 250
"""Contents of more than `LARGE` bytes that are `SWOLLEN` times as long as their file are not read."""

DESCRIPTOR = 24
"""Bytes that may follow a part of an archive: its length, where that was not known beforehand."""


def read_arrays(
    path: Path, wanted: Collection[str], texts: Collection[str] = (), what: str = "graph file"
) -> tuple[dict[str, np.ndarray], list[str]]:
    """The wanted arrays of an `.npz`, and the names of all that it holds; those in `texts` may hold text. `what` is
    what an error calls the file.

    Raises:
        InputError: the file is no `.npz`, damaged, encrypted, larger than it may be, or a wanted array holds something
            else than numbers.
    """
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            members = _members(archive)
            chosen = {name: members[name] for name in wanted if name in members}
            check_size(path, sum(member.file_size for member in chosen.values()))
            _check_places(archive, stream)
            kinds = {name: "biufU" if name in texts else "biuf" for name in chosen}
            found = {name: _read(archive, name, member, kinds[name]) for name, member in chosen.items()}
            return found, list(members)
    except InputError as error:
        raise InputError(f"Cannot read the {what} {path}: {error}") from None
    except Exception as error:  # zlib, zipfile, numpy and the system each have their own
        raise InputError(f"Cannot read the {what} {path}: {reason(error)}.") from None


def check_size(path: Path, declared: int) -> None:
    """Refuses contents that do not fit into memory, and those out of proportion to their file."""
    free = available_bytes(torch.device("cpu"))
    if declared > free:
        raise InputError(f"it declares {_gib(declared)}, but {_gib(free)} are free.")
    if declared > LARGE and declared > SWOLLEN * path.stat().st_size:
        raise InputError(
            f"it declares {_gib(declared)}, more than {SWOLLEN} times its own length; store it uncompressed (np.savez)."
        )


def _gib(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size < 2**60 else "more than a billion GiB"


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Array name -> its entry in the archive."""
    found: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename.removesuffix(".npy")
        if name == member.filename or not name.isprintable():
            raise InputError(f"its part {name[:40]!r} is no array (damaged).")
        if name in found:
            raise InputError(f"it holds two arrays '{name}'.")
        found[name] = member
    return found


def _check_places(archive: zipfile.ZipFile, stream: IO[bytes]) -> None:
    """A damaged table of contents may miss a part, or call it otherwise: then a mask would be missed without a word."""
    end = 0
    for member in sorted(archive.infolist(), key=lambda one: one.header_offset):
        if not member.flag_bits & 1:
            archive.open(member).close()  # compares the name with that at its place
        if not 0 <= member.header_offset - end <= DESCRIPTOR:
            raise InputError("its table of contents does not fit its parts (damaged).")
        stream.seek(member.header_offset + 26)
        name, extra = struct.unpack("<HH", stream.read(4))
        end = member.header_offset + 30 + name + extra + member.compress_size
    if not 0 <= archive.start_dir - end <= DESCRIPTOR:
        raise InputError("its table of contents does not fit its parts (damaged).")


def _read(archive: zipfile.ZipFile, name: str, member: zipfile.ZipInfo, kinds: str) -> np.ndarray:
    if member.flag_bits & 1:
        raise InputError(f"field '{name}' is encrypted.")
    with archive.open(member) as stream:
        shape, dtype = _header(stream)
        declared, stored = prod(shape) * dtype.itemsize, member.file_size - stream.tell()
    if dtype.kind not in kinds:
        raise InputError(f"field '{name}' must hold numbers, not {str(dtype)[:60]}.")
    if declared != stored:
        raise InputError(f"field '{name}' declares {declared} bytes and has {stored} (truncated or damaged).")
    with archive.open(member) as stream:
        array: np.ndarray = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that an array declares."""
    version = np.lib.format.read_magic(stream)
    readers: Mapping[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:  # 3.0 is for names of columns, which no array of numbers has
        raise InputError(f"an array has format {version[0]}.{version[1]}, which no array of numbers needs.")
    shape, _, dtype = readers[version](stream)
    if any(size < 0 for size in shape):
        raise InputError(f"an array declares the shape {list(shape)}.")
    return shape, dtype
