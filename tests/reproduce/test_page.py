"""The offline page: everything is inside, and every number names its record."""

import html
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ansgt.reproduce import resolve_items
from ansgt.reproduce.page import write_page
from ansgt.reproduce.records import stored_records
from ansgt.reproduce.task import Setup
from ansgt.reproduce.write import outcome, write_item

NAMES = ("table-accuracy", "table-coarsening", "fig-ablation", "claims")


def page_of(records: Path, out: Path, names: tuple[str, ...] = NAMES) -> str:
    found = [outcome(item, records, Setup()) for item in resolve_items(names)]
    for one in found:
        write_item(one, out)
    return write_page(found, out, "ansgt reproduce all --html").read_text()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(stored_records(), tmp_path_factory.mktemp("page"))


class Cells(HTMLParser):
    """Collects titles and texts of the cells that hold a number."""

    def __init__(self) -> None:
        super().__init__()
        self.titles: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        if tag == "td" and "number" in (found.get("class") or "").split() and "title" in found:
            self.titles.append(found["title"] or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_is_loaded(page: str) -> None:
    assert not re.search(r'(src|href)="(?!data:|#)', page)
    assert "default-src 'none'" in html.unescape(page)
    assert "img-src data:" in page
    assert "<script" not in page


def test_items_stand_with_their_commands(page: str) -> None:
    for name in NAMES:
        assert f'<section id="{name}">' in page
        assert f"<code>ansgt reproduce {name}</code>" in page
    assert page.count("data:image/svg+xml;base64,") == 1
    assert re.search(r"Of \d+ claims \d+ hold, \d+ do not hold, \d+ cannot be told", page)


def test_tags_are_closed_and_numbers_have_records(page: str) -> None:
    cells = Cells()
    cells.feed(page)
    assert cells.open == []
    assert len(cells.titles) > 200
    assert all(title.removeprefix("missing: ").endswith(".json") for title in cells.titles)


def test_a_missing_record_is_named_in_its_cell(tmp_path: Path) -> None:
    shutil.copytree(stored_records() / "runs", tmp_path / "records" / "runs")
    name = "runs/gcn--cora--uniform-60-20-20.json"
    (tmp_path / "records" / name).unlink()
    page = page_of(tmp_path / "records", tmp_path / "out", ("table-accuracy",))
    assert f'title="missing: {name}">missing<small>87.33</small>' in page
    assert "1 record is missing" in page
