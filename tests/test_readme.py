"""The README tells the truth: its quick start runs, its verbs and its tree are there. Links: tests/test_docs.py."""

import re
from pathlib import Path

import pytest
from page_cases import python_blocks

from ansgt.cli import VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_quick_start_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSGT_CACHE", str(tmp_path / "cache"))
    (quick_start,) = python_blocks(README)
    exec(compile(quick_start.code, "README.md", "exec"), {"__name__": "quick_start"})
    found = re.search(r"test accuracy ([\d.]+)", capsys.readouterr().out)
    assert found is not None
    assert float(found[1]) > 0.8
    assert (tmp_path / "model" / "split-0" / "model.safetensors").exists()


def test_verbs_of_the_readme_exist() -> None:
    named = set(re.findall(r"(?:^\s+|`)ansgt ([a-z]+)", README, flags=re.MULTILINE))
    assert named == set(VERBS), "every verb has a line in the README, and only verbs have"


def tree() -> list[tuple[int, str]]:
    """Indentation and name of every line of the annotated tree."""
    lines = README.split("    ansgt/\n", 1)[1].split("\n\n", 1)[0].splitlines()
    return [(len(line) - len(line.lstrip()), line.split()[0]) for line in lines]


def test_the_tree_of_the_readme_is_there() -> None:
    folders = {6: ROOT / "ansgt", 4: ROOT}
    assert [name for indent, name in tree() if not (folders[indent] / name).exists()] == []


def test_the_tree_of_the_readme_is_complete() -> None:
    named = {name.rstrip("/").removesuffix(".py") for indent, name in tree() if indent == 6}
    there = {
        path.stem
        for path in (ROOT / "ansgt").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert there - named == {"__init__", "__main__"}
