"""Which default a graph gets that was left out, and what that scored: from the rows of `study.scripts.leave_one_out`.

Rules: study/log.md, 2026-11-19. Every default is chosen from validation accuracies of the other graphs; test accuracies are
only read. Rows may be incomplete: a graph counts where it has what is asked for.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ansgt.datasets.load import Source
from ansgt.prediction.progressive import ExpertMixture, most_experts
from ansgt.runs import presets
from ansgt.runs.facts import FACTS, Facts
from study.scripts.leave_one_out import MOST_ON_LARGE, candidates, name_of, read_rows

ANSGT = "ansgt"
BASELINES = ("mlp", "gcn", "sage", "gat", "gprgnn", "h2gcn", "acmgcn")
"""The families whose best counts; `linkx` is in the table beside them."""
ENOUGH = 0.005
"""Mean regret in validation that a threshold must save."""
MIXTURES = ("ansgt, best", "auto", "auto, best")
"""Several presets of ANS-GT; every family's default; every family's presets that outlived the first round."""

MIXED = "mixtures.json"

Row = dict[str, Any]
Accuracies = dict[str, dict[str, float]]
"""Graph -> candidate -> validation accuracy."""


@dataclass(frozen=True)
class Rule(presets.Rule):
    """A family's default, as the product applies it, with what it costs.

    Args:
        regret: mean regret in validation of the rule over the graphs it was chosen on.
    """

    regret: float = 0.0

    def candidate(self, facts: Mapping[str, float]) -> str:
        return self.preset(facts)

    def __str__(self) -> str:
        if self.high is None:
            return self.low
        return f"{self.low} if {self.fact} < {self.threshold:.4g} else {self.high}"


def choose(accuracies: Accuracies, facts: Mapping[str, Mapping[str, float]]) -> Rule | None:
    """The rule that the log describes; None without a candidate that all graphs have."""
    graphs = sorted(accuracies)
    names = shared_candidates(accuracies)
    if not names:
        return None

    def regret(chosen: Callable[[str], str]) -> float:
        best = {graph: max(accuracies[graph][name] for name in names) for graph in graphs}
        return fmean(best[graph] - accuracies[graph][chosen(graph)] for graph in graphs)

    single = min((Rule(name, regret=regret(lambda _, name=name: name)) for name in names), key=_by_regret)
    rules = []
    for fact, (low, high) in itertools.product(FACTS, itertools.permutations(names, 2)):
        values = sorted({facts[graph][fact] for graph in graphs})
        for below, above in itertools.pairwise(values):
            rule = Rule(low, high, fact, (below + above) / 2)
            found = regret(lambda graph, rule=rule: rule.candidate(facts[graph]))
            rules.append(replace(rule, regret=found))
    best = min(rules, key=_by_regret, default=single)
    return best if single.regret - best.regret >= ENOUGH - 1e-12 else single


def _by_regret(rule: Rule) -> float:
    return round(rule.regret, 12)


def shared_candidates(accuracies: Accuracies) -> list[str]:
    """Candidates that every graph has, in the order in which they are first met."""
    if not accuracies:
        return []
    sets = [set(own) for own in accuracies.values()]
    order = dict.fromkeys(name for own in accuracies.values() for name in own)
    return [name for name in order if all(name in own for own in sets)]


@dataclass(frozen=True, eq=False)
class Verdict:
    """All that is computed from rows.

    Args:
        plan: `candidates.yaml`.
        rows: trained splits, without those that failed.
        facts: graph -> facts of its first split.
        stored: (row) -> class probabilities of validation and test nodes, or None where they are not there.
        labels: (data set, kind of split, number) -> labels of validation nodes and of test nodes.
        mixed: test accuracies of mixtures that were computed once, for where the probabilities are not.
    """

    plan: dict[str, Any]
    rows: list[Row]
    facts: Mapping[str, Mapping[str, float]]
    stored: Callable[[Row], np.ndarray | None]
    labels: Callable[[str, str, int], tuple[np.ndarray, np.ndarray]]
    mixed: dict[str, float] = field(default_factory=dict)

    @property
    def graphs(self) -> list[str]:
        return [name for name in self.plan["datasets"] if any(row["dataset"] == name for row in self.rows)]

    @cached_property
    def _cells(self) -> dict[tuple[str, str, str, int], Row]:
        return {
            (row["family"], row["dataset"], row["candidate"], row["index"]): row
            for row in self.rows
            if row["split"] == self.plan["splits"]
        }

    def row(self, family: str, graph: str, candidate: str, index: int) -> Row | None:
        return self._cells.get((family, graph, candidate, index))

    def survivors(self, family: str) -> list[str]:
        """Candidates that got a second split anywhere; all of them before the second round."""
        names = list(self.plan["families"][family]["candidates"])
        later = {name for fam, _, name, index in self._cells if fam == family and index > 0}
        return [name for name in names if name in later] if len(later) > 1 else names

    def accuracies(self, family: str, graphs: Iterable[str]) -> Accuracies:
        """Mean validation accuracy over the splits that all candidates of a graph have.

        A graph whose first round is not complete does not count.
        """
        names = self.survivors(family)
        number_of = len(self.plan["families"][family]["candidates"])
        found: Accuracies = {}
        for graph in graphs:
            splits = {
                name: {index for index in range(3) if self.row(family, graph, name, index)} for name in names
            }
            splits = {name: own for name, own in splits.items() if 0 in own}
            wanted = MOST_ON_LARGE if graph in self.plan["large_graphs"] else number_of
            trained = {
                name for fam, one, name, index in self._cells if (fam, one, index) == (family, graph, 0)
            }
            if splits and len(trained) >= min(wanted, number_of):
                shared = set.intersection(*splits.values())
                found[graph] = {
                    name: fmean(self._cells[family, graph, name, index]["val_accuracy"] for index in shared)
                    for name in splits
                }
        return found

    def default(self, family: str, left_out: str | None) -> Rule | None:
        """A family's default for a graph, chosen without it; what ships where none is left out."""
        others = [graph for graph in self.graphs if graph != left_out]
        return choose(self.accuracies(family, others), self.facts)

    @cached_property
    def defaults(self) -> dict[tuple[str, str], str]:
        """(family, graph) -> candidate of its default."""
        found = {}
        for family, graph in itertools.product(self.plan["families"], self.graphs):
            rule = self.default(family, graph)
            if rule is not None:
                found[family, graph] = rule.candidate(self.facts[graph])
        return found

    def default_rows(self, family: str, graph: str) -> dict[int, Row]:
        """Split -> the row of a family's default on a left-out graph."""
        name = self.defaults.get((family, graph))
        rows = {index: self.row(family, graph, name, index) for index in range(3) if name is not None}
        return {index: row for index, row in rows.items() if row is not None}

    def mixture(self, rows: Sequence[Row | None]) -> float | None:
        """Test accuracy of the progressive mixture of some models of one split; None where one is missing."""
        present = [row for row in rows if row is not None]
        if not present or len(present) < len(rows):
            return None
        key = hashlib.sha256(" ".join(map(name_of, present)).encode()).hexdigest()[:16]
        parts = [part for part in map(self.stored, present) if part is not None]
        if len(parts) == len(present):
            first = present[0]
            labels = self.labels(first["dataset"], first["split"], first["index"])
            self.mixed[key] = _mixture(parts, *labels)
        return self.mixed.get(key)

    def mixtures(self, graph: str, index: int) -> dict[str, float | None]:
        """Test accuracy of each of `MIXTURES`; the defaults come first, where a graph supports few experts."""
        families = list(self.plan["families"])
        defaults = [self.default_rows(family, graph).get(index) for family in families]
        others = {family: self.others(family, graph, index) for family in families}
        best = [defaults[families.index(ANSGT)], *others[ANSGT]]
        every = [*defaults, *(row for family in families for row in others[family])]
        return {
            name: self.mixture(rows) if len(rows) > 1 else None
            for name, rows in zip(MIXTURES, (best, defaults, every), strict=True)
        }

    def others(self, family: str, graph: str, index: int) -> list[Row | None]:
        """The rows of a family's survivors but for its default."""
        own = self.defaults.get((family, graph))
        return [self.row(family, graph, name, index) for name in self.survivors(family) if name != own]

    @cached_property
    def test(self) -> dict[str, dict[str, float]]:
        """Graph -> column -> mean test accuracy over the splits that every family's default there has."""
        found: dict[str, dict[str, float]] = {}
        for graph in self.graphs:
            rows = {family: self.default_rows(family, graph) for family in self.plan["families"]}
            rows = {family: own for family, own in rows.items() if own}
            if not rows:
                continue
            shared = sorted(set.intersection(*(set(own) for own in rows.values())))
            found[graph] = {
                family: fmean(own[index]["test_accuracy"] for index in shared)
                for family, own in rows.items()
                if shared
            }
            mixed = [self.mixtures(graph, index) for index in shared]
            for name in MIXTURES:
                values = [one[name] for one in mixed]
                if values and None not in values:
                    found[graph][name] = fmean(value for value in values if value is not None)
            found[graph]["splits"] = len(shared)
        return found

    def gaps(self, column: str, baselines: Sequence[str] = BASELINES) -> dict[str, float]:
        """Graph -> a column's test accuracy less that of the best baseline there; graphs that have all of them."""
        return {
            graph: own[column] - max(own[name] for name in baselines)
            for graph, own in self.test.items()
            if column in own and all(name in own for name in baselines)
        }

    def missing(self) -> list[str]:
        """What is not there yet, as lines."""
        lines = []
        for family in self.plan["families"]:
            absent = [graph for graph in self.plan["datasets"] if not self.default_rows(family, graph)]
            if absent:
                lines.append(f"{family}: {', '.join(absent)}")
        later = sum(1 for row in self.rows if row["index"] > 0 and row["family"] in self.plan["families"])
        lines.append(f"second round (splits 1 and 2): {later} rows")
        return lines


def _mixture(parts: Sequence[np.ndarray], val: np.ndarray, test: np.ndarray) -> float:
    """Test accuracy where the probabilities of validation and test nodes are mixed, by as many as the nodes support."""
    most = most_experts(len(val))
    probabilities = np.stack(parts[:most] if most >= 2 else parts).astype(np.float64)
    mixed = ExpertMixture.of(probabilities[:, : len(val)], val).mixed(probabilities[:, len(val) :])
    return float((mixed.argmax(axis=1) == test).mean())


def open_verdict(folder: Path, source: Source) -> Verdict:
    """The rows of a folder that `leave_one_out` wrote; facts, and accuracies of mixtures, are kept beside them."""
    plan = candidates()
    paths = sorted(path for name in ("rows-*", "first*", "second*") for path in folder.glob(f"{name}.jsonl*"))
    rows = [row for path in paths for row in read_rows(path) if "error" not in row]
    kept = folder / "facts.json"
    facts = json.loads(kept.read_text()) if kept.exists() else {}
    for name in dict.fromkeys(row["dataset"] for row in rows):
        if set(facts.get(name, ())) != set(FACTS):
            data = source.load(name)
            facts[name] = Facts(data.graph, data.split(plan["splits"], 0, 0).train).all()
    kept.write_text(json.dumps(facts, indent=1))

    def stored(row: Row) -> np.ndarray | None:
        path = folder / "probabilities" / f"{name_of(row)}.npy"
        return np.load(path) if path.exists() else None

    def labels(name: str, kind: str, index: int) -> tuple[np.ndarray, np.ndarray]:
        if (name, kind, index) not in known:
            data = source.load(name)
            split, y = data.split(kind, index, 0), data.graph.y.numpy()
            known[name, kind, index] = (y[split.val.numpy()], y[split.test.numpy()])
        return known[name, kind, index]

    known: dict[tuple[str, str, int], tuple[np.ndarray, np.ndarray]] = {}
    mixtures = folder / MIXED
    mixed = json.loads(mixtures.read_text()) if mixtures.exists() else {}
    return Verdict(plan, rows, facts, stored, labels, mixed)
