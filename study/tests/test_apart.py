"""Product and study are apart: the package imports no study, the wheel holds none. Pages of the study are in order."""

import ast
import fnmatch
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "study").glob("*.md"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))


def test_the_package_does_not_import_the_study() -> None:
    wrong = [
        path
        for path in (ROOT / "ansgt").rglob("*.py")
        if any(name.split(".")[0] == "study" for name in imported(path))
    ]
    assert wrong == []


def test_no_module_of_the_package_is_there_for_the_study_alone() -> None:
    """What the study imports from the package is imported, or named as a module to load, by the package too."""
    package = [path for path in (ROOT / "ansgt").rglob("*.py") if "testing" not in str(path)]
    used = {name for path in package for name in imported(path)}
    named = {
        word for path in package for word in re.findall(r"ansgt(?:\.\w+)+", path.read_text(encoding="utf-8"))
    }
    wanted = {
        module
        for path in (ROOT / "study").rglob("*.py")
        for name in imported(path)
        for module in [module_of(name)]
        if module and not module.startswith("ansgt.testing")
    }
    assert wanted - used - named == set()


def module_of(name: str) -> str | None:
    """`ansgt.graph.Graph` -> `ansgt.graph`; None for what is not a module file of the package."""
    if not name.startswith("ansgt."):
        return None
    path = ROOT.joinpath(*name.split("."))
    return name if path.with_suffix(".py").exists() else None


def test_the_wheel_takes_the_package_alone() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    if not isinstance(packages, list):
        folders = [path.parent.name for path in ROOT.glob("*/__init__.py")]
        packages = [
            f for f in folders if any(fnmatch.fnmatch(f, part) for part in packages["find"]["include"])
        ]
    assert {name.split(".")[0] for name in packages} == {"ansgt"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "", page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s#]+)", text)
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "results.md"], ids=lambda page: page.name
)
def test_lines_are_at_most_140_characters_wide(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 140 and not line.startswith("|")] == []


def test_files_that_a_reader_lacks_are_not_named() -> None:
    """Working notes and numbers of issues mean nothing outside the place where they were written."""
    words = re.compile("DESI" + r"GN\.md|FIND" + r"INGS|\biss" + r"ue [0-9]")
    texts = [
        path
        for path in (ROOT / "study").rglob("*")
        if path.suffix in (".py", ".md", ".yaml", ".json", ".txt")
    ]
    assert [path for path in texts if words.search(path.read_text(encoding="utf-8"))] == []
