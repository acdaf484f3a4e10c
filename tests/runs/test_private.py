"""A private folder lives as long as its holder, in the process that made it."""

import gc
import os
from pathlib import Path

import pytest

from ansgt.errors import InputError
from ansgt.runs.folder import RunFolder
from ansgt.runs.private import PrivateFolder, _remove


def test_it_goes_with_the_last_who_holds_it() -> None:
    folder = PrivateFolder()
    path = folder.path
    (path / "a").write_text("1")
    del folder
    gc.collect()
    assert not path.exists()


def test_what_was_packed_is_unpacked_but_for_locks() -> None:
    files = {"a.txt": b"1", "split-0/model-1/b.txt": b"2", "split-0/model-1/c.txt": b""}
    folder = PrivateFolder.unpacked(files)
    (folder.path / "split-0" / ".lock").touch()
    assert folder.packed() == files


def test_removing_what_is_gone_and_what_is_anothers(tmp_path: Path) -> None:
    _remove(tmp_path / "gone", os.getpid())
    _remove(tmp_path, os.getpid() + 1)
    assert tmp_path.exists()
    _remove(tmp_path, os.getpid())
    assert not tmp_path.exists()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_leaves_it() -> None:
    folder = PrivateFolder()
    child = os.fork()
    if child == 0:
        del folder
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    assert folder.path.is_dir()


def test_a_copy_holds_what_a_run_wrote_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "run.json",
        ".lock",
        ".run.json.x.tmp",
        "split-0/split.npz",
        "split-0/mine",
        "tensorboard/events",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "notes.txt").symlink_to("nowhere")
    own = PrivateFolder.copy_of(RunFolder(tmp_path))
    assert own.packed() == {"run.json": b"run.json", "split-0/split.npz": b"split-0/split.npz"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "summary.json")
    with pytest.raises(InputError, match=r"summary\.json is not a file"):
        PrivateFolder.copy_of(RunFolder(tmp_path))


def test_what_was_packed_is_unpacked() -> None:
    files = {"run.json": b"{}", "split-0/a.bin": bytes(range(256))}
    assert PrivateFolder.unpacked(files).packed() == files
