"""A private folder lives as long as its holder, in the process that made it."""

import gc
import os
from pathlib import Path

import pytest

from ansgt.runs.private import PrivateFolder


def test_it_goes_with_the_last_who_holds_it() -> None:
    folder = PrivateFolder()
    path = folder.path
    (path / "a").write_text("1")
    del folder
    gc.collect()
    assert not path.exists()


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


def test_a_copy_holds_the_files_but_neither_locks_nor_logs(tmp_path: Path) -> None:
    for name in (".lock", "half.tmp", "split-0/weights", "tensorboard/events"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    own = PrivateFolder.copy_of(tmp_path)
    assert [path.relative_to(own.path).as_posix() for path in own.path.rglob("*") if path.is_file()] == [
        "split-0/weights"
    ]
    assert own.packed() == {"split-0/weights": b"split-0/weights"}


def test_what_was_packed_is_unpacked() -> None:
    files = {"run.json": b"{}", "split-0/a.bin": bytes(range(256))}
    assert PrivateFolder.unpacked(files).packed() == files
