"""`save_copy`: a run in another folder, whose older run it replaces; whenever the process dies, a whole one is there.

The copy is made beside the target and takes its place at once. A stranger's files that lie beside an older run stay; a
folder with other files than a run's is refused. What a killed process left beside the target goes with the next copy.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ansgt.errors import BusyError, InputError, reason
from ansgt.runs.folder import (
    FOLDER_OF_MODEL,
    FOLDER_OF_SPLIT,
    LOCK,
    OF_RUN,
    OF_SPLIT,
    RunFolder,
)
from ansgt.storage import TEMPORARY, exchange, folder_lock, make_folder

FIRST, LAST = "run.json", "config.json"
"""The file that says whose a folder is, and the one that makes a run of it."""


def save_copy(run: RunFolder, target: Path | str) -> None:
    """Copies what a run wrote to `target`; links are followed, and the folder of the run itself stays as it is."""
    place = _place(target)
    if place.exists() and os.path.samefile(place, run.path):
        return
    older = RunFolder(place)
    others = [path for path in place.iterdir() if path.name != LOCK] if place.exists() else []
    if others and not older.is_ours:
        raise InputError(f"{place} holds files that are not of a run of ansgt; choose a new or empty folder.")
    with contextlib.ExitStack() as stack:
        if others:
            stack.enter_context(older.lock())
            _remove_leftovers(place)
        beside = stack.enter_context(_beside(place))
        stack.enter_context(folder_lock(beside))
        run.copy_to(beside)
        if others or not place.exists():
            _copy_strangers(place, beside)
            beside.chmod(0o777 & ~_umask())
            _take_place(beside, place)
        else:
            _fill(beside, place)


def _place(target: Path | str) -> Path:
    """Where a path leads, if a folder may be there."""
    try:
        place = Path(os.path.realpath(target))
        is_file = place.exists() and not place.is_dir()
    except (TypeError, ValueError, OSError) as error:
        raise InputError(f"Cannot save to {str(target)[:200]!r}: {_words(error)}.") from None
    if is_file:
        raise InputError(f"Cannot save to {target}: it is a file.")
    return place


@contextlib.contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """A new folder with a name of its own beside `place`; what is in it at the end goes."""
    try:
        folder = tempfile.mkdtemp(dir=make_folder(place.parent), prefix=f".{place.name}.", suffix=".tmp")
    except FileNotFoundError as error:  # in /proc there can be no folder
        raise InputError(f"Cannot save to {place}: {_words(error)}.") from None
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _words(error: Exception) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else reason(error)


def _take_place(beside: Path, place: Path) -> None:
    """Exchanges the folders; a process that stands in the older one stands in the newer one afterwards."""
    here = None
    with contextlib.suppress(OSError):  # there may be no folder here any more
        here = place if place.exists() and os.path.samefile(os.curdir, place) else None
    exchange(beside, place)
    if here is not None:
        os.chdir(here)


def _fill(beside: Path, place: Path) -> None:
    """Moves everything into an empty folder, which somebody may stand in; what says that it is a run comes last."""
    order = {FIRST: -1, LAST: 1}
    for path in sorted(beside.iterdir(), key=lambda path: order.get(path.name, 0)):
        if path.name != LOCK:
            os.replace(path, place / path.name)


def _remove_leftovers(place: Path) -> None:
    """Removes what killed processes left beside `place`: folders with our lock that nobody holds."""
    for path in place.parent.iterdir():
        ours = path.name.startswith(f".{place.name}.") and path.name.endswith(".tmp") and path.is_dir()
        if ours and (path / LOCK).exists():
            with contextlib.suppress(BusyError), folder_lock(path):
                shutil.rmtree(path, ignore_errors=True)


def _copy_strangers(source: Path, target: Path) -> None:
    """Copies what is in an older run's folder and no run wrote."""
    for path in source.iterdir() if source.exists() else ():
        if _is_folder(path) and FOLDER_OF_SPLIT.fullmatch(path.name):
            _copy_foreign(path, target / path.name)
        elif path.name not in (*OF_RUN, LOCK) and not _is_temporary(path, OF_RUN):
            _copy_any(path, target / path.name)


def _copy_foreign(source: Path, target: Path) -> None:
    """The same for the folder of a split or of a model."""
    for path in source.iterdir():
        if _is_folder(path) and FOLDER_OF_MODEL.fullmatch(path.name):
            _copy_foreign(path, target / path.name)
        elif path.name not in OF_SPLIT and not _is_temporary(path, OF_SPLIT):
            target.mkdir(parents=True, exist_ok=True)
            _copy_any(path, target / path.name)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _is_temporary(path: Path, names: tuple[str, ...]) -> bool:
    return any(path.match(TEMPORARY.replace("*", f"{name}.*", 1)) for name in names)


def _copy_any(source: Path, target: Path) -> None:
    if _is_folder(source):
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
