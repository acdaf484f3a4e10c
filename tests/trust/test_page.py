"""Markup in every place a value can come from: on the page it is text, in pictures and on the terminal it is a name."""

import base64
import dataclasses
import hashlib
import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ansgt.cli import build_app
from ansgt.cli.common import fail, say, tell
from ansgt.prediction.explanation import Attended, Explanation
from ansgt.report.comparison import plot_comparison
from ansgt.report.figures import plot_weights
from ansgt.report.page import write_report
from ansgt.runs.folder import RunFolder
from ansgt.runs.prepare import prepare_run
from ansgt.runs.run import run
from ansgt.runs.statistics import Cell

ROOT = Path(__file__).parents[2]
SCRIPT = "<script>alert(1)</script>"
IMAGE = "\"><img src=x onerror='alert(2)'>{{ 7 * 7 }}"
NAMES = [SCRIPT, IMAGE, "$x_{", "a$b$c", "[/x] :smile: [bold]b", "\\frac$", "</style></pre>&amp;"]


class Tags(HTMLParser):
    """All tags with their attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "aside", "div"),
    *("h1", "h2", "h3", "h4", "p", "a", "b", "i", "ol", "span", "details", "summary", "pre", "noscript"),
    *("table", "thead", "tbody", "tr", "th", "td", "label", "select", "option", "input", "button", "script"),
    *("figure", "figcaption", "svg", "line", "text", "path", "circle"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "class", "name", "id", "href", "hidden", "type", "value"),
    *("placeholder", "autocomplete", "aria-live", "aria-label", "role", "viewbox", "d", "transform"),
    *("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose data set, variant, split and folder are markup."""
    data, config = prepare_run("newman", "gcn", device="cpu", overrides=["epochs=3"])
    splits = {IMAGE: [data.split(config.split, 0, 0)]}
    named = dataclasses.replace(data, name=SCRIPT, variant=IMAGE, stored=splits)
    chosen = dataclasses.replace(config, dataset=SCRIPT, split=IMAGE)
    folder = tmp_path_factory.mktemp("hostile") / "<b onclick=alert(3)> [x] :smile: $y_{$"
    run(chosen, named, folder)
    return folder


def test_the_page_escapes_every_value(hostile: Path, tmp_path: Path) -> None:
    write_report([RunFolder(hostile)], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    found = Tags(page)
    assert {tag for tag, _ in found.tags} <= ALLOWED
    assert {name for _, attributes in found.tags for name in attributes} <= ATTRIBUTES
    targets = [attributes["href"] for _, attributes in found.tags if "href" in attributes]
    assert all(target is not None and target.startswith("#") for target in targets)
    for text in (SCRIPT, IMAGE, hostile.name):
        assert text in found.text  # braces included: no template is made of a name
        assert text not in page
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)[0])
    assert data["graphs"][0]["title"] == SCRIPT


def test_the_page_has_a_policy_that_its_style_and_scripts_meet(hostile: Path, tmp_path: Path) -> None:
    write_report([RunFolder(hostile)], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    policy = next(a["content"] for tag, a in Tags(page).tags if a.get("http-equiv"))
    assert policy is not None
    rules = dict(part.split(" ", 1) for part in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for tag in ("style", "script"):
        inside = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.S)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in inside]
        assert rules[f"{tag}-src"].split() == [f"'sha256-{digest}'" for digest in digests]


def test_templates_and_libraries_are_package_data() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folder = ROOT / "ansgt" / "report"
    carried = {path for pattern in data["package-data"]["ansgt.report"] for path in folder.glob(pattern)}
    assert carried == {*(folder / "templates").iterdir(), *(folder / "vendor").iterdir()}


def test_verbs_of_a_run_with_markup_in_its_names(hostile: Path) -> None:
    for verb in ("report", "predict"):
        done = CliRunner().invoke(build_app([verb]), [verb, str(hostile)])
        assert done.exit_code == 0, done.output
        assert str(hostile) in done.stdout.replace("\n", "")


@pytest.mark.parametrize("name", NAMES)
def test_pictures_with_any_name(name: str, tmp_path: Path) -> None:
    rows = [{"epoch": e, "heuristics": [name, "ppr"], "probabilities": [0.4, 0.6]} for e in range(2)]
    plot_weights([rows], tmp_path / "w.svg", name)
    cell = Cell(name, name, per_split=(0.5, 0.6), mean=0.55, std=0.05, seconds=1.0)
    plot_comparison([cell], tmp_path / "c.png", name)
    attended = [Attended(1, 0.5, 0, 0, 1, 0.5, {name: 1.0})]
    Explanation(0, 0, 0, [0.5, 0.5], {}, {name: 1.0}, attended).plot(tmp_path / "e.png")
    assert all((tmp_path / picture).stat().st_size > 2000 for picture in ("w.svg", "c.png", "e.png"))


@pytest.mark.parametrize("name", NAMES)
def test_the_terminal_shows_names_as_they_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(name, style="bold")
    assert capsys.readouterr().out == f"{name}\n"
    tell(name)
    fail(name)
    assert capsys.readouterr().err == f"{name}\nerror: {name}\n"


def test_configs_are_read_back(hostile: Path) -> None:
    config = RunFolder(hostile).config()
    assert (config.dataset, config.split) == (SCRIPT, IMAGE)
