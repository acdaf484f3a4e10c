"""DESIGN.md section 4: a stage imports only from stages above it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import ansgt

PACKAGE = Path(ansgt.__file__).parent
ORDER = [
    "errors",
    "optional",
    "storage",
    "graph",
    "linalg",
    "config",
    "datasets",
    "heuristics",
    "coarsening",
    "sampling",
    "sequences",
    "models",
    "training",
    "report",
    "pipeline",
    "comparison",
    "classifier",
    "benchmarks",
    "cli",
]
FREE = {"__init__", "__main__", "testing"}
"""Outside the order: any stage may use the tiny graphs of `testing.py`, and it may know any stage."""


def imported_stages(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            if parts[0] == "ansgt" and len(parts) > 1 and parts[1] in ORDER:
                yield parts[1]


def upward_arrows(stage: str, source: str) -> list[str]:
    return sorted({other for other in imported_stages(source) if ORDER.index(other) > ORDER.index(stage)})


def test_every_module_belongs_to_a_stage() -> None:
    stages = {
        p.stem if p.is_file() else p.name
        for p in PACKAGE.iterdir()
        if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert stages - FREE <= set(ORDER)


def test_no_upward_import() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        stage = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if stage not in FREE:
            wrong += [
                f"{path.relative_to(PACKAGE)} imports {other}"
                for other in upward_arrows(stage, path.read_text())
            ]
    assert wrong == []


def test_an_upward_import_is_noticed() -> None:
    assert upward_arrows("graph", "from ansgt.training.fit import run") == ["training"]
    assert upward_arrows("models", "import ansgt.cli.train") == ["cli"]
    assert upward_arrows("models", "def f():\n    from ansgt import training") == ["training"]
    assert upward_arrows("training", "from ansgt.models import resolve_model") == []


def test_pipeline_fits_on_a_page() -> None:
    assert len((PACKAGE / "pipeline.py").read_text().splitlines()) < 60
