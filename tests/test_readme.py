"""The README tells the truth: its quick start runs, its verbs exist, its links and those of docs/ lead somewhere."""

import re
from pathlib import Path

import pytest

from ansgt.cli import VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
MARK = "<!-- quick start: run by tests/test_readme.py -->"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def quick_start(text: str) -> str:
    """The one Python block that follows the mark."""
    found = re.search(re.escape(MARK) + r"\s*```python\n(.*?)```", text, flags=re.DOTALL)
    assert found is not None, "the quick start of the README is not marked"
    return found.group(1)


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def relative_links(text: str) -> list[str]:
    """Targets of Markdown links and images that are files: no address, no anchor."""
    targets = re.findall(r"\]\(([^)\s]+)\)", without_code(text))
    files = [target.partition("#")[0] for target in targets if "://" not in target]
    return [file for file in files if file]


def test_quick_start_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSGT_CACHE", str(tmp_path / "cache"))
    exec(compile(quick_start(README), "README.md", "exec"), {"__name__": "quick_start"})
    printed = capsys.readouterr().out
    assert float(re.search(r"test accuracy ([\d.]+)", printed).group(1)) > 0.8  # type: ignore[union-attr]
    assert (tmp_path / "model" / "split-0" / "model.safetensors").exists()


def test_verbs_of_the_readme_exist() -> None:
    named = set(re.findall(r"(?:^\s+|`)ansgt ([a-z]+)", README, flags=re.MULTILINE))
    assert named - set(VERBS) == set()
    assert named == set(VERBS), "every verb has a line in the README"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = relative_links(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_links_are_found() -> None:
    text = "[a](docs/a.md#part) ![b](b.png) [c](https://x.org/c) [d](#here) `[e](e.md)`"
    assert relative_links(text) == ["docs/a.md", "b.png"]


def test_the_tree_of_the_readme_is_there() -> None:
    tree = README.split("    ansgt/\n", 1)[1].split("\n\n", 1)[0].splitlines()
    folder = ROOT / "ansgt"
    missing = []
    for line in tree:
        name = line.split()[0]
        if not line.startswith("      "):
            folder = ROOT
        if not (folder / name).exists():
            missing.append(name)
    assert missing == []
