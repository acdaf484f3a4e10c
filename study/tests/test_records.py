"""The study's records: logs are read from the archive, and every file that a page names is there."""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansgt.bench.epoch import PEER
from study import records
from study.records import ARCHIVE, FOLDER, RESULTS, archived_log, read_log, unpacked_log

PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.name != "results.md"]


def test_a_file_comes_before_the_archive(tmp_path: Path) -> None:
    path = tmp_path / "ansgt-kinds-12.jsonl"
    archived = read_log(path)
    assert {row["dataset"] for row in archived} == {"cora"}
    path.write_text('{"dataset": "mine"}\n')
    assert read_log(path) == [{"dataset": "mine"}]


def test_a_log_that_is_nowhere_is_named() -> None:
    with pytest.raises(FileNotFoundError, match=r"no log absent.jsonl in .*search.tar.xz"):
        read_log("absent.jsonl")


def test_a_search_goes_on_from_what_the_archive_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "SEARCHES", tmp_path / "search")
    path = unpacked_log("ansgt-kinds-12.jsonl")
    assert path.read_text() == archived_log("ansgt-kinds-12.jsonl")
    path.write_text("changed\n")
    assert unpacked_log("ansgt-kinds-12.jsonl").read_text() == "changed\n"
    assert unpacked_log("new.jsonl").read_text() == ""


def test_every_archived_log_holds_lines_of_json() -> None:
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        assert len(members) == 35
        for member in members:
            stored = archive.extractfile(member)
            assert stored is not None
            assert all(isinstance(json.loads(line), dict) for line in stored.read().splitlines())


def braced(name: str) -> Iterator[str]:
    """a-{b,c}.x -> a-b.x, a-c.x"""
    found = re.match(r"(.*)\{(.*)\}(.*)", name)
    yield from (found[1] + part + found[3] for part in found[2].split(",")) if found else [name]


def named_records(text: str) -> set[str]:
    """The files under results/ that a page names in code font, and not as those of an older commit."""
    quoted = re.findall(r"`(?:study/)?(results/[^`\s]+)`(?!\s+of\s+commit)", text)
    return {file for name in quoted if "<" not in name for file in braced(name)} - {"results/ablation"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_records_that_a_page_names_are_there(page: Path) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archived = {f"results/{name}" for name in archive.getnames()}
    files = {str(path.relative_to(FOLDER)) for path in RESULTS.rglob("*")} | archived
    missing = [
        name
        for name in sorted(named_records(page.read_text()))
        if not any(Path(file).match(name.rstrip("/")) for file in files)
    ]
    assert missing == []


def test_bare_names_on_the_page_of_the_device_are_its_records() -> None:
    named = set(re.findall(r"`(\w+\.(?:json|txt))`", (FOLDER / "gpu.md").read_text()))
    assert len(named) > 10
    assert [name for name in named if not (RESULTS / "device" / name).exists()] == []


def test_names_with_braces_and_older_commits_are_understood() -> None:
    text = "`results/a-{b,c}.json`, `results/old.json` of commit 83f411c, `study/results/runs`"
    assert named_records(text) == {"results/a-b.json", "results/a-c.json", "results/runs"}


def test_the_bench_divides_by_the_peers_record() -> None:
    stored = json.loads((RESULTS / "peer" / "authors_release.json").read_text())
    cora, chameleon = stored["measured"][:2]
    derived = {name: entry["seconds"] for name, entry in stored["derived"].items()}
    assert PEER["cora"] == {
        "pass": cora["pass"],
        "epoch": derived["cora epoch without scoring the training part"],
        "update": cora["update"],
        "preprocessing": cora["preprocessing"],
        "run": derived["cora, 1,000 epochs with ten updates, without scoring the training part"],
    }
    assert PEER["chameleon"]["epoch"] == derived["chameleon epoch without scoring the training part"]
    for row, share in ((cora, 1624 / 2708), (chameleon, 1366 / 2277)):
        without = row["epoch"] - share * (row["epoch"] - row["pass"])
        assert without == pytest.approx(PEER[row["dataset"]]["epoch"], abs=0.005)
