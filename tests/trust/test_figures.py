"""The table of `docs/trust.md` is what the commands stored."""

import json
import multiprocessing
from pathlib import Path

import figures
import pytest


def test_the_page_shows_what_is_stored() -> None:
    assert figures.PAGE.read_text() == figures.page(), "run python tests/trust/figures.py"


def test_what_several_processes_store_stands_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "STORE", tmp_path / "figures.json")
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=figures.store, args=(f"make {name}", "3 things", "0 bad"))
        for name in ("b", "a", "b")
    ]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert list(json.loads((tmp_path / "figures.json").read_text())) == ["make a", "make b"]
    assert figures.table().count("| 3 things | 0 bad |") == 2
