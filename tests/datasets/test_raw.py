"""Raw files are checked before anything reads them, and copied, never written to."""

import shutil
from pathlib import Path

import pytest

from ansgt.datasets import load
from ansgt.datasets.raw import check_raw, find_raw, is_present
from ansgt.errors import InputError


def test_a_changed_raw_file_is_refused_before_it_is_read(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "Cora", tmp_path / "root" / "Cora", copy_function=shutil.copyfile)
    target = tmp_path / "root" / "Cora" / "raw" / "ind.cora.graph"
    target.write_bytes(b"cos\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(InputError, match=r"ind.cora.graph is not the published file.*--allow-changed-data"):
        load("cora", tmp_path / "root", cache_dir=tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.pt"))


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files under a root, unknown to the table of checksums."""
    folder = tmp_path / "root" / "mine"
    folder.mkdir(parents=True)
    for name in ("one.txt", "two.txt"):
        (folder / name).write_text(name)
    return sorted(folder.iterdir())


def test_files_are_found_by_pattern_and_those_with_a_star_may_be_absent(
    files: list[Path], tmp_path: Path
) -> None:
    root = tmp_path / "root"
    assert find_raw(root, "mine", ("two.txt", "one.txt", "*.npz"), "mine") == files[::-1]
    assert is_present(root, "mine", ("one.txt", "*.npz"))
    assert not is_present(root, "mine", ("one.txt", "three.txt"))
    with pytest.raises(InputError, match=r"Data set 'mine': .*three.txt does not exist"):
        find_raw(root, "mine", ("three.txt",), "mine")


def test_the_key_is_that_of_the_content(files: list[Path], tmp_path: Path) -> None:
    root = tmp_path / "root"
    key = check_raw(root, files, allow_changed=False).key
    assert check_raw(root, files[::-1], allow_changed=False).key == key
    files[0].write_text("other")
    assert check_raw(root, files, allow_changed=False).key != key


def test_what_is_parsed_is_a_copy_of_the_checked_bytes(files: list[Path], tmp_path: Path) -> None:
    root = tmp_path / "root"
    raw = check_raw(root, files, allow_changed=False)
    assert raw.read("mine/one.txt") == b"one.txt"
    with raw.copied() as folder:
        assert sorted(path.name for path in (folder / "mine").iterdir()) == ["one.txt", "two.txt"]
        (folder / "mine" / "made").write_text("by a parser")
    assert not folder.exists()
    assert sorted(root.rglob("*")) == [root / "mine", *files]
    files[0].write_text("other")
    with pytest.raises(InputError, match=r"one.txt changed while it was read"):
        raw.read("mine/one.txt")
    with pytest.raises(InputError, match=r"one.txt changed while it was read"), raw.copied():
        pass
