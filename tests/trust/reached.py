"""Which tests call which functions of ours: `Reached`, a plugin of pytest that writes it down while the tests run."""

import ast
import os
import sys
import threading
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

Function = tuple[str, str]
"""File and name; functions of one name in a file count as one."""


class Reached:
    """Writes `what<TAB>file<TAB>function` for every function that a test or a fixture calls, also in forked children.

    Args:
        functions: those that matter; files by their whole path.
        record: where the lines go.
    """

    def __init__(self, functions: Iterable[Function], record: Path) -> None:
        self.wanted, self.seen = set(functions), set[tuple[str, Function]]()
        self.now, self.stream = "", os.open(record, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        if self.wanted:
            threading.settrace(self._called)
            sys.settrace(self._called)

    def _called(self, frame: FrameType, event: str, argument: Any) -> None:
        function = frame.f_code.co_filename, frame.f_code.co_name
        if function in self.wanted and (self.now, function) not in self.seen:
            self.seen.add((self.now, function))
            self._write(self.now, *function)

    def _write(self, *words: str) -> None:
        os.write(self.stream, ("\t".join(words) + "\n").encode())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        for name in getattr(item, "fixturenames", ()):
            self._write(item.nodeid, "fixture", name)
        self.now = item.nodeid
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        before, self.now = self.now, f"fixture {fixturedef.argname}"
        try:
            return (yield)
        finally:
            self.now = before

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write(report.nodeid, "failed", "")


@dataclass
class Only:
    """Runs these tests of the files that pytest collects; without any of them, all."""

    tests: Collection[str]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.tests] if self.tests else items


def read(record: Path) -> tuple[dict[Function, set[str]], set[str]]:
    """Function -> the tests that call it, by themselves or by a fixture of theirs; and the tests that failed."""
    rows = [line.split("\t") for line in record.read_text().splitlines()]
    called: dict[str, set[Function]] = {}
    for what, file, function in rows:
        called.setdefault(what, set()).add((file, function))
    found: dict[Function, set[str]] = {}
    for test in (what for what in called if not what.startswith("fixture ") and what):
        fixtures = [name for kind, name in called[test] if kind == "fixture"]
        for function in called[test].union(*(called.get(f"fixture {name}", set()) for name in fixtures)):
            found.setdefault(function, set()).add(test)
    return found, {what for what, file, _ in rows if file == "failed"}


def function_at(source: str, line: int) -> str | None:
    """Name of the function that a line belongs to; None for a line of the module, and for a compiled function.

    >>> function_at("def f():\\n    return 1\\n\\nx = 2", 2), function_at("def f():\\n    return 1\\n\\nx = 2", 4)
    ('f', None)
    """
    around = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.lineno < line <= (node.end_lineno or 0)
    ]
    if not around or any("njit" in ast.unparse(one) for node in around for one in node.decorator_list):
        return None
    return max(around, key=lambda node: node.lineno).name
