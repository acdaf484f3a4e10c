"""Changes the source in small ways and counts the changes that the mirrored tests notice: `make mutants MUTANTS=100 SEED=0`.

A mutant is one change that alters a result: a comparison, an operator, a constant, a condition turned round, a wrong index
variable, a statement left out. Types, texts, errors and decorators are left alone, and so are the changes in `SAME`, which
no result depends on. A seeded sample is drawn over the files; each mutant lives in a copy of the tree, in a forked process,
and is killed where `tests/<stage>/test_<file>.py` fails, or else a test of the same stage that calls the changed function
(any test of the stage, where it is compiled or belongs to no function). Survivors are listed; the exit status is 1 where
fewer than `ENOUGH` were killed.
"""

import argparse
import ast
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

if __name__ == "__main__":  # before numpy is imported; not when pytest collects the doctests of this file
    os.environ |= {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TRITON_INTERPRET": "1"}

import numpy as np
from figures import store
from reached import Function, Only, Reached, function_at, read

ROOT = Path(__file__).parents[2]
STAGES = ("sampling", "heuristics", "coarsening", "training", "runs")
FILES = ("graph.py", "features.py", "datasets/dataset.py")
"""Besides the stages: the graph, what models see of it, the splits."""
ENOUGH = 0.95
MOST_SECONDS, PATIENCE = 300.0, 3
"""CPU time of tests, and how many times as long they may take where the machine is busy."""

SWAPPED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
"""Operator -> the one that takes its place."""
NAMED = {
    "min": "max",
    "minimum": "maximum",
    "argmin": "argmax",
    "zeros": "ones",
    "any": "all",
    "floor": "ceil",
}
NAMED |= {other: one for one, other in NAMED.items()}
SILENT = ("warn", "InputError", "BrokenRunError", "unknown_name", "njit", "field")
"""Calls whose arguments are words, or advice for a compiler."""
TINY = 1e-100
"""Smaller constants keep a division from being by zero, and larger ones than its inverse stand for infinity; double of one
does so too, and nothing else sees them."""
SAME: dict[str, str] = {
    r"runs/executors.py: torch.set_num_threads": "threads of a worker cost time alone",
    r"sampling/drawing.py: race_there =": "the twins draw the same",
    r"sampling/bandit.py: weight = torch.where\(sampled.mask": "q is 0 where nothing was drawn",
    r"sampling/.*.py: (_JIT_PAYS|_BLOCK|SMALL_BLOCK, LARGE_BLOCK|STREAMED_CENTRES) = ": "how work is cut",
    r"sampling/mixture.py: (return (max\(1, |SMALL_BLOCK)|if len\(blocks\) == 1)": "how work is cut",
    r"sampling/(drawing|mixture).py: if .* >= _JIT_PAYS and": "the twins draw the same, and psi has the same bits",
    r"sampling/drawing.py: if .*: (\(1.0 - u\) \* 0.999999 <= slow|time < slow)": "two clocks do not ring at one time",
    r"heuristics/knn.py: if not sp.issparse\(x\) and np.count_nonzero": "sparse and dense rows are compared alike",
    r"heuristics/hops.py: return n <= SMALL": "the dense and the sparse product are equal",
    r"at\.advance\(": "it moves a bar",
    r"heuristics/.*.py: (block_size\b.* = |size = stop - start)": "how work is cut",
    r"astype\(.*copy=False.*: False -> True": "a copy is equal",
    r"heuristics/rows.py: (self.data, self.indices = np.empty\(0|if end > len|room = .*: 1.1)": "only what is used counts",
    r"heuristics/rows.py: if out_columns\[at\] < .* <= ": "columns are distinct",
    r"heuristics/rows.py: (if len\(values\) <= max\(_FEW|top, least = .*: key|key, is_tie = .*: True)": "sorting does it",
    r"heuristics/rows.py: (shift \+= 1|_BINS, _FEW = )": "bins of any width find the same",
    r"heuristics/rows.py: ((highest, width|place) = np.*: 1 -> 2|passes = .*: [89] ->|bits = .*passes \+ 1\)$)": (
        "digits of any length sort alike"
    ),
    r"heuristics/rows.py: if np.diff.*: 0 -> 1": "k is at least 1",
    r"heuristics/rows.py: (_JIT_PAYS|if .* < _JIT_PAYS)": "the compiled way finds the same",
    r"heuristics/rows.py: if is_large and indptr": "a shorter way to the same rows",
    r"heuristics/neighbors.py: (projection = np.random|SKETCH = )": "any projection finds candidates",
    r"heuristics/neighbors.py: (_SAMPLED_PER_CELL|most = _SAMPLED_PER_CELL|chosen = np.random)": "any sample finds cells",
    r"heuristics/neighbors.py: (z = |return z \^).*: (0x\w+|\d+) -> ": "any hash tells rows apart",
    r"heuristics/neighbors.py: total = np.uint64\(0\)": "any hash tells rows apart",
    r"heuristics/.*.py: for part in np.array_split\(nodes, max\(1, ": "how work is cut",
    r"training/steps.py: (torch.compiler.reset|return torch.compile)": "compiled or not, the numbers are the same",
    r"coarsening/lobpcg.py: kept = spread >": "what lies between is rounding",
    r"coarsening/spectrum.py: seed: int = 0": "any start leads to the same eigenpairs",
    r"coarsening/spectrum.py: (for _ in range\(2\)|if label\[j\] < 0 and strength >)": "copies start vectors come from",
    r"coarsening/spectrum.py: if graph.num_nodes <= max\(dense_below": "the dense solver and the other agree",
    r"coarsening/base.py: numba.set_num_threads": "threads cost time alone",
    r"heuristics/push.py: (queue|touched) = np.empty\(n \+ 1": "room that is not used",
    r"heuristics/push.py: largest = degree.max": "there is no graph without nodes",
    r"heuristics/scan.py: for group in range": "a group past the end is empty",
    r"coarsening/spectrum.py: (graph: Contracted, k: int, tolerance: float, seed|for _ in range\(10\)|_, trial = lobpcg)": (
        "it is iterated to the tolerance"
    ),
    r"coarsening/base.py: SERIAL_BELOW": "a second thread costs time alone",
    r"training/adaptive.py: REWARDED = ": "how work is cut",
    r"heuristics/store.py: SHARD = ": "how work is cut",
    r"heuristics/scan.py: self._order = np.random": "candidates are found in any order",
    r"coarsening/(contraction|heavy_edge|matching|neighborhoods|spectrum).py: .*[=,] -1\b.*: 1 -> 2": (
        "any negative number says that nothing is there"
    ),
    r"coarsening/contraction.py: once = row < .* <= ": "there are no loops",
    r"coarsening/neighborhoods.py: if own < other or .*\(i <= j\)": "there are no loops",
    r"coarsening/neighborhoods.py: (CHUNKS = |.*\bwidest\b.*: 1 -> 2)": "how work is cut, and room for it",
    r"coarsening/neighborhoods.py: distance = np.zeros": "all are farther by one",
    r"coarsening/neighborhoods.py: while saved < budget .*\(saved <= budget\)": "of a spent budget no set has two members",
    r"heuristics/ppr.py: (_SPARSE = |if system.nnz <= |solve, size = )": "either way solves it",
    r"heuristics/.*.py: _CHUNK = ": "how work is cut",
    r"heuristics/push.py: _, component = .*: False": "the graph has no directions",
    r"heuristics/.*.py: for chunk in prange\(.*\* _CHUNK\)": "further chunks are empty",
    r"coarsening/__init__.py: (rng|edges|x) =|warm-up": "warming up compiles; what it coarsens is thrown away",
}
"""`file: source of a line: before -> after` (a regular expression) -> why no result depends on it."""


@dataclass(frozen=True)
class Mutant:
    """A change of one place: `before`, at the given place of a file, becomes `after`."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order of their places."""
    offsets = np.cumsum([0, *(len(line) for line in source.encode().splitlines(keepends=True))])
    found = []
    for node, after in _changes(ast.parse(source), []):
        start = int(offsets[node.lineno - 1]) + node.col_offset
        end = int(offsets[(node.end_lineno or 0) - 1]) + (node.end_col_offset or 0)
        before = source.encode()[start:end].decode()
        found.append(Mutant(file, node.lineno, start, end, before, after))
    return found


def _changes(node: ast.AST, indices: list[str]) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Places below a node, each with what may stand there instead."""
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of `zip`: no more than an assertion
        return
    if isinstance(node, ast.Call) and _name(node.func) in SILENT:
        return
    if isinstance(node, ast.FunctionDef):
        if node.name in ("__repr__", "__str__"):
            return
        indices = sorted({one.slice.id for one in ast.walk(node) if _is_indexed(one)})
    if isinstance(node, ast.expr | ast.stmt):
        yield from ((node, after) for after in _instead(node, indices))
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_docstring(child):
                yield from _changes(child, indices)


def _instead(node: ast.expr | ast.stmt, indices: list[str]) -> list[str]:
    if isinstance(node, ast.Compare | ast.BinOp | ast.BoolOp | ast.AugAssign):
        return _other_operator(node)
    if isinstance(node, ast.Constant):
        return _other_constant(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [f"({ast.unparse(node.operand)})"]
    if isinstance(node, ast.Attribute | ast.Name) and _name(node) in NAMED:
        name = _name(node)
        return [re.sub(rf"{name}$", NAMED[name], ast.unparse(node))]
    if _is_indexed(node) and len(indices) > 1:
        own = node.slice.id  # type: ignore[attr-defined]
        other = indices[(indices.index(own) + 1) % len(indices)]
        return [f"{ast.unparse(node.value)}[{other}]"]  # type: ignore[attr-defined]
    if isinstance(node, ast.IfExp):
        test, one, other = map(ast.unparse, (node.test, node.body, node.orelse))
        return [f"({other} if {test} else {one})"]
    left_out = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute)
    return ["pass"] if (left_out and not _is_silent(node)) or stored or isinstance(node, ast.Continue) else []


def _other_operator(node: ast.Compare | ast.BinOp | ast.BoolOp | ast.AugAssign) -> list[str]:
    copy = ast.parse(ast.unparse(node)).body[0]
    changed = copy.value if isinstance(copy, ast.Expr) else copy
    old = changed.ops[0] if isinstance(changed, ast.Compare) else changed.op  # type: ignore[attr-defined]
    if type(old) not in SWAPPED or any(isinstance(one, ast.Constant | ast.JoinedStr) and not _is_number(one)
                                       for one in ast.iter_child_nodes(changed)):  # fmt: skip
        return []
    new = SWAPPED[type(old)]()
    if isinstance(changed, ast.Compare):
        changed.ops[0] = new
    else:
        changed.op = new  # type: ignore[attr-defined]
    text = ast.unparse(copy)
    return [text if isinstance(node, ast.stmt) else f"({text})"]


def _other_constant(value: object) -> list[str]:
    if isinstance(value, bool):
        return [str(not value)]
    if isinstance(value, int):
        return [str(value + 1)]
    is_guard = isinstance(value, float) and (0 < abs(value) < TINY or abs(value) > 1 / TINY)
    return [repr(2 * value if value else 1.0)] if isinstance(value, float) and not is_guard else []


def _is_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _is_indexed(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name) and node.slice.id[0].islower()


def _is_silent(node: ast.Expr) -> bool:
    return isinstance(node.value, ast.Call) and _name(node.value.func) in SILENT


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def sources() -> list[str]:
    """The files that are mutated, by their path under `ansgt/`."""
    found = [path for stage in STAGES for path in sorted((ROOT / "ansgt" / stage).glob("*.py"))]
    return [*FILES, *(path.relative_to(ROOT / "ansgt").as_posix() for path in found)]


def sample(number_of: int, seed: int, files: Sequence[str]) -> list[Mutant]:
    """Mutants drawn from all of the files, at most one of a line; an edit of a source file draws anew for its own lines."""
    drawn: dict[tuple[str, int], tuple[str, Mutant]] = {}
    for file in files:
        source = (ROOT / "ansgt" / file).read_text()
        for mutant in mutants_of(file, source):
            line = source.splitlines()[mutant.line - 1].strip()
            lot = sha256(f"{seed} {file} {line} {mutant.before} {mutant.after}".encode()).hexdigest()
            if not any(
                re.search(place, f"{file}: {line}: {mutant.before} -> {mutant.after}") for place in SAME
            ):
                place = file, mutant.line
                drawn[place] = min(drawn.get(place, (lot, mutant)), (lot, mutant), key=lambda one: one[0])
    return [mutant for _, mutant in sorted(drawn.values(), key=lambda one: one[0])[:number_of]]


def mirrored(file: str) -> list[str]:
    """The test file of a source file, where there is one."""
    path = Path("tests", Path(file).parent, f"test_{Path(file).name}")
    return [str(path)] if (ROOT / path).exists() else []


def stage_of(file: str) -> str:
    """Where the tests are of whatever may call a file: the folder of its stage, or its own test file."""
    folder = Path(file).parent
    return str(Path("tests", folder)) if folder != Path() else mirrored(file)[0]


@cache
def _importers(file: str) -> frozenset[str]:
    """Files of compiled functions that may have this file's inside, itself among them."""
    found, grows = {file}, True
    while grows:
        names = "|".join(re.escape(f"ansgt.{one.removesuffix('.py').replace('/', '.')} ") for one in found)
        more = {one for one in sources() if re.search(rf"from ({names})", (ROOT / "ansgt" / one).read_text())}
        grows, found = not more <= found, found | more
    return frozenset(found)


class Tree:
    """A copy of the sources and tests, and of what numba has compiled, in which one file at a time is changed."""

    def __init__(self, folder: Path, drawn: Sequence[Mutant]) -> None:
        self.folder, self.compiled = folder, folder / "compiled"
        ignored = shutil.ignore_patterns("__pycache__", "trust")
        for name in ("ansgt", "configs", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", folder)
        self.functions = {one for one in map(self._function, drawn) if one is not None}
        self.callers: dict[Function, set[str]] = {}
        self.broken: set[str] = set()
        self._tried: set[str] = set()

    def _try_unchanged(self, path: str, functions: Iterable[Function] = ()) -> None:
        """Runs tests as they are, once: who calls what will be changed, and who fails anyway."""
        if path not in self._tried:
            self._tried.add(path)
            record = self.folder / "reached"
            plugin = partial(Reached, functions, record)
            _forked(self.folder, [path, "--maxfail=1000"], self.compiled, plugin, 20 * MOST_SECONDS)
            self.callers, self.broken = read(record)

    def _function(self, mutant: Mutant) -> Function | None:
        path = self.folder / "ansgt" / mutant.file
        name = function_at(path.read_text(), mutant.line)
        return None if name is None else (str(path), name)

    def notice(self, mutant: Mutant) -> bool:
        """Whether a test fails with this change: one of the mirrored file, else one of the stage that may notice it."""
        own, stage, function = mirrored(mutant.file), stage_of(mutant.file), self._function(mutant)
        for path in own:
            self._try_unchanged(path)
        if own and self._fails(mutant, own, ()):
            return True
        self._try_unchanged(stage, self.functions)
        callers = self.callers.get(function, set()) - self.broken if function else set()
        files = {one.partition("::")[0] for one in callers} if function else {stage}
        others = sorted(files.difference(own))
        return bool(others) and self._fails(mutant, others, callers)

    def _fails(self, mutant: Mutant, paths: list[str], tests: Collection[str]) -> bool:
        without_broken = [f"--deselect={test}" for test in self.broken]
        with self._changed(mutant) as compiled:
            return _forked(self.folder, [*paths, *without_broken], compiled, partial(Only, tests))

    @contextmanager
    def _changed(self, mutant: Mutant) -> Iterator[Path]:
        """Yields what is compiled without what the change is part of."""
        path = self.folder / "ansgt" / mutant.file
        whole, facts = path.read_bytes(), path.stat()
        own = self.folder / "compiled-now"
        shutil.copytree(self.compiled, own)
        if "njit" in whole.decode():
            for importer in _importers(mutant.file):
                for left in own.rglob(f"{Path(importer).stem}.*"):
                    left.unlink()
        try:
            path.write_bytes(whole[: mutant.start] + mutant.after.encode() + whole[mutant.end :])
            os.utime(path, (facts.st_atime, facts.st_mtime + 7))
            yield own
        finally:
            path.write_bytes(whole)
            os.utime(path, (facts.st_atime, facts.st_mtime))
            shutil.rmtree(own)


def _forked(
    folder: Path,
    arguments: list[str],
    compiled: Path,
    plugin: Callable[[], object],
    seconds: float = MOST_SECONDS,
) -> bool:
    """Whether a test fails, or takes too long; pytest stops at the first that does."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of CPU time
        signal.alarm(PATIENCE * int(seconds))
        _run_tests(folder, arguments, compiled, plugin)
    fails = os.waitpid(child, 0)[1] != 0
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # workers that a killed test leaves behind would take the machine
    return fails


def _run_tests(folder: Path, arguments: list[str], compiled: Path, plugin: Callable[[], object]) -> None:
    """In the forked process, which ends here."""
    import numba
    import pytest

    compiled.mkdir(exist_ok=True)
    numba.config.CACHE_DIR = str(compiled)
    nothing = os.open(os.devnull, os.O_RDWR)
    if "VERBOSE" not in os.environ:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
    os.chdir(folder)
    os.environ |= {
        "PYTHONPATH": str(folder),
        "ANSGT_CACHE": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(compiled),
    }
    os.environ |= {"ANSGT_DATA": str(folder / "none"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(folder))
    code, options = 1, ["-x", "-q", "-p", "no:cacheprovider", "--no-header"]
    try:
        code = int(pytest.main([*options, *arguments], plugins=[plugin()]))
        code = 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code
    finally:
        os._exit(code)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--files", nargs="*", help="paths under ansgt/; default: all")
    parser.add_argument("--list", action="store_true", help="names the mutants and runs nothing")
    parser.add_argument(
        "--known", type=Path, help="what an earlier run printed: its killed mutants are not tried again"
    )
    parser.add_argument("--record", action="store_true", help="stores the counts for docs/trust.md")
    asked = parser.parse_args()
    drawn = sample(asked.mutants, asked.seed, asked.files or sources())
    known = set(re.findall(r"^ *\d+ killed (.*)$", asked.known.read_text() if asked.known else "", re.M))
    if asked.list:
        print(*drawn, sep="\n")
        return 0
    import hypothesis  # noqa: F401  (imported once for all children)
    import numba  # noqa: F401
    import pytest  # noqa: F401
    import sklearn.metrics  # noqa: F401
    import torch_geometric.data  # noqa: F401

    start, killed = time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="ansgt-mutants-", ignore_cleanup_errors=True) as name:
        tree = Tree(Path(name), drawn)
        for number, mutant in enumerate(drawn, 1):
            dead = str(mutant) in known or tree.notice(mutant)
            killed += dead
            print(f"{number:4d} {'killed' if dead else 'SURVIVED'} {mutant}", flush=True)
        if tree.broken:
            print(f"fail without any change, so they count for nothing: {', '.join(sorted(tree.broken))}")
    print(
        f"{len(drawn)} mutants, seed {asked.seed}: {killed} killed, {len(drawn) - killed} survived, "
        f"{time.perf_counter() - start:.0f} s"
    )
    if asked.record:
        found = f"{killed} noticed by the mirrored tests, {len(drawn) - killed} not"
        store(f"make mutants MUTANTS={len(drawn)} SEED={asked.seed}", f"{len(drawn)} mutants", found)
    return 0 if killed >= ENOUGH * len(drawn) else 1


if __name__ == "__main__":
    sys.exit(main())
