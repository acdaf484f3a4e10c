"""A stage imports only from stages above it; every file belongs to one."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ansgt

PACKAGE = Path(ansgt.__file__).parent
ORDER = [
    "errors",
    "turns",
    "seal",
    "storage",
    "table",
    "metrics",
    "plotting",
    "device",
    "ranks",
    "ahead",
    "stages",
    "arrays",
    "settings",
    "descriptions",
    "names",
    "kernels",
    "graph",
    "linalg",
    "features",
    "links",
    "config",
    "datasets",
    "heuristics",
    "coarsening",
    "sampling",
    "sequences",
    "planner",
    "pipeline",
    "models",
    "prediction",
    "training",
    "runs",
    "report",
    "estimator",
    "classifier",
    "hub",
    "__init__",
    "bench",
    "reproduce",
    "cli",
    "__main__",
    "testing",
]
"""The stages in the order in which the data flows. Nobody imports the last one but tests and outsiders."""
FILES = sorted(PACKAGE.rglob("*.py"))


def stage_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_stages(source: str) -> Iterator[str]:
    """Stages that a file names: in import statements, and as "ansgt.module:attribute" in tables of names."""
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value:
            names = [node.value.partition(":")[0]] if " " not in node.value else []
        for name in names:
            parts = name.split(".")
            if parts[0] == "ansgt" and len(parts) > 1 and parts[1] in ORDER:
                yield parts[1]


def upward_arrows(stage: str, source: str) -> list[str]:
    return sorted({other for other in imported_stages(source) if ORDER.index(other) > ORDER.index(stage)})


def test_every_file_belongs_to_a_stage() -> None:
    assert {stage_of(path) for path in FILES} == set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_upward_import(path: Path) -> None:
    assert upward_arrows(stage_of(path), path.read_text()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_an_upward_import_is_noticed_in_any_file(path: Path) -> None:
    """Every file, with an import of the last stage in a function's body at its end, fails the test above."""
    below = ORDER[-1]
    if stage_of(path) == below:
        pytest.skip("nothing lies below the last stage")
    changed = path.read_text() + f"\n\ndef _sneaked() -> None:\n    from ansgt import {below}\n"
    assert upward_arrows(stage_of(path), changed) == [below]


def test_ways_to_import() -> None:
    assert upward_arrows("graph", "from ansgt.training.steps import train_epoch") == ["training"]
    assert upward_arrows("models", "import ansgt.cli.train") == ["cli"]
    assert upward_arrows("models", "def f():\n    from ansgt import training") == ["training"]
    assert upward_arrows("models", 'TABLE = {"x": "ansgt.training.adaptive:AdaptiveLearner"}') == ["training"]
    assert upward_arrows("training", "from ansgt.models import resolve_model") == []


def test_pipeline_fits_on_a_page() -> None:
    assert len((PACKAGE / "pipeline.py").read_text().splitlines()) < 120


def test_only_kernels_and_device_ask_which_device_it_is() -> None:
    """Others ask what a device does well."""
    asked = re.compile(r"\bis_cuda\b|device\.type\b|cuda\.is_available|HAS_TRITON|import triton")
    asking = {
        path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if asked.search(path.read_text("utf-8"))
    }
    assert {path for path in asking if path.parts[0] not in ("kernels", "device.py", "testing")} == set()
