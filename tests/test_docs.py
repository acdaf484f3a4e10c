"""The pages tell the truth: their Python and the examples run, their commands parse, their links, paths and trees are there.

A Python block that cannot run stands behind a comment that says why: `<!-- not run: REASON -->`.
"""

import doctest
import importlib
import importlib.util
import os
import re
import runpy
import shlex
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import typer

from ansgt.cli import VERBS, build_app
from ansgt.config import parse_override
from ansgt.runs.prepare import is_setting, kinds_of

BLOCK = re.compile(r"(?:<!-- not run: (?P<reason>.*?) -->\s*)?```python\n(?P<code>.*?)```", re.DOTALL)


class Block(NamedTuple):
    """Code of a page, moved to its line, so that a traceback shows where it stands."""

    code: str
    reason: str | None


def python_blocks(text: str) -> list[Block]:
    """Every Python block of a page, in order.

    >>> python_blocks("a\\n```python\\nx = 1\\n```\\n")[0].code
    '\\n\\nx = 1\\n'
    """
    found = BLOCK.finditer(text)
    return [
        Block("\n" * text.count("\n", 0, match.start("code")) + match["code"], match["reason"])
        for match in found
    ]


ROOT = Path(__file__).parents[1]
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS]
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)


@pytest.mark.parametrize(
    "page", [page for page in DOCS if python_blocks(page.read_text())], ids=lambda p: p.stem
)
def test_python_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, in their order, in one namespace, in an empty folder with an empty cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSGT_CACHE", str(tmp_path / "cache"))
    namespace = {"__name__": page.stem}
    with torch.random.fork_rng(devices=[]):
        for block in python_blocks(page.read_text()):
            if block.reason is None:
                exec(compile(block.code, str(page), "exec"), namespace)


@each_page
def test_python_that_is_not_run_says_why(page: Path) -> None:
    reasons = [block.reason for block in python_blocks(page.read_text()) if block.reason is not None]
    assert all(len(reason) > 10 for reason in reasons)


def test_python_blocks_are_found() -> None:
    blocks = python_blocks(
        "```python\na\n```\n```yaml\nb\n```\n<!-- not run: no card -->\n```python\nc\n```\n"
    )
    assert [(block.code.strip(), block.reason) for block in blocks] == [("a", None), ("c", "no card")]


def commands(text: str) -> Iterator[list[str]]:
    """The words of every `ansgt` command of a page that is a line of code; brackets mark what may be left out."""
    joined = re.sub(r"\\\n\s*", "", text)
    for line in re.findall(r"^ {4}(ansgt .*)$", joined, flags=re.MULTILINE):
        yield shlex.split(re.sub(r"\[(--[^\]]*)\]", r"\1", line), comments=True)[1:]


@each_page
def test_commands_of_a_page_parse(page: Path) -> None:
    for verb, *words in commands(page.read_text()):
        parser = typer.main.get_command(build_app([verb])).commands[verb]  # type: ignore[attr-defined]
        parser.make_context(verb, words, token_normalize_func=None)


@each_page
def test_overrides_of_a_page_are_settings(page: Path) -> None:
    for verb, *words in commands(page.read_text()):
        if verb == "train":
            model = words[words.index("--model") + 1] if "--model" in words else "ansgt"
            given = [after for word, after in pairwise(words) if word == "-o"]
            for name, _ in map(parse_override, given):
                assert any(is_setting(name, kinds) for kinds in kinds_of(model)), name


def test_commands_are_found() -> None:
    text = "x\n\n    ansgt train cora \\\n        -o lr=1  # why\n    python x.py\n`ansgt report`\n"
    assert list(commands(text)) == [["train", "cora", "-o", "lr=1"]]


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def relative_links(text: str) -> list[str]:
    """Targets of Markdown links and images that are not addresses."""
    return [target for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)) if "://" not in target]


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {word.strip().replace(" ", "-") for word in words}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in relative_links(page.read_text()):
        file, _, anchor = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    assert broken == []


def test_links_are_found() -> None:
    text = "[a](docs/a.md#part) ![b](b.png) [c](https://x.org/c) [d](#here) `[e](e.md)`"
    assert relative_links(text) == ["docs/a.md#part", "b.png", "#here"]
    assert anchors("# A page\n## `model`, for ANS-GT\n") == {"a-page", "model-for-ans-gt"}


@each_page
def test_paths_that_a_page_names_exist(page: Path) -> None:
    named = re.findall(
        r"`((?:ansgt|configs|docs|examples|study|tests)/[\w./-]+?)`",
        re.sub(r"```.*?```", "", page.read_text()),
    )
    assert [path for path in named if not (ROOT / path).exists() and "mine" not in path] == []


@each_page
def test_a_page_names_nothing_that_its_reader_lacks(page: Path) -> None:
    assert re.findall("DES" "IGN|FIND" "INGS|" r"\bissue #?\d", page.read_text()) == []


@pytest.mark.parametrize("name", ["docstrings", "repository_links", "settings_table"])
def test_examples_of_the_extensions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


STAGES = (
    "datasets",
    "heuristics",
    "coarsening",
    "sampling",
    "sequences",
    "models",
    "prediction",
    "training",
    "testing",
)


@pytest.mark.parametrize("module", ["ansgt", *(f"ansgt.{stage}" for stage in STAGES)])
def test_every_public_name_is_in_the_reference(module: str) -> None:
    listed = re.findall(
        r"^ {3}(ansgt\.\S+)$", (ROOT / "docs" / "reference.md").read_text(), flags=re.MULTILINE
    )
    shown = {name.rpartition(".")[2] for name in listed}
    found = importlib.import_module(module)
    public = {
        name for name in found.__all__ if callable(getattr(found, name))
    }  # tables of names are not shown
    assert public - shown == set()


def test_every_name_of_the_reference_is_there() -> None:
    listed = re.findall(
        r"^ {3}(ansgt\.\S+)$", (ROOT / "docs" / "reference.md").read_text(), flags=re.MULTILINE
    )
    absent = []
    for name in listed:
        module, _, attribute = name.rpartition(".")
        try:
            getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            absent.append(name)
    assert absent == []


def test_every_verb_is_in_the_pages() -> None:
    named = {verb for page in DOCS for verb, *_ in commands(page.read_text())}
    assert named == set(VERBS)


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


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
LAST_WORDS = {
    "a_new_node": "of its 5 neighbours",
    "algorithm_1": "epoch 30",
    "coarsen": "90 super-nodes from 900 nodes",
    "compare_with_a_baseline": "newman-0.9  ansgt",
    "cora_in_ten_lines": "test accuracy",
    "custom_heuristic": "common neighbours",
    "explain_a_node": "brought by",
    "imbalanced_classes": "class_weight=balanced",
    "serve_with_fastapi": "a new node",
    "which_heuristic_wins": "homophily 0.9",
    "your_csv": "of the 30 users",
    "your_own_graph": "of 34 members",
}
"""Something that the last line of interest holds."""


def test_every_example_is_known() -> None:
    assert {path.stem for path in EXAMPLES} == set(LAST_WORDS)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for needed in ("networkx", "pandas", "fastapi", "httpx"):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSGT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        tempfile, "tempdir", str(tmp_path / "cache")
    )  # what an example writes goes with the cache
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    with torch.random.fork_rng(devices=[]):
        runpy.run_path(str(path), run_name="__main__")
    plt.close("all")
    assert LAST_WORDS[path.stem] in capsys.readouterr().out
    assert os.listdir(tmp_path) in ([], ["cache"]), "an example leaves nothing behind"
