"""What a graph that nobody tuned on would have got: the verdict on the rows of `study.scripts.leave_one_out`.

    python -m study.scripts.judge /work/lodo --root DATA --output study/defaults.md --presets configs/presets.yaml

Rules: study/log.md, 2026-11-19. Every default is chosen from validation accuracies of the other graphs; test accuracies are
only reported. Rows may be incomplete: what is missing is named, and a graph counts where it has what a line needs.
"""

import argparse
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ansgt.datasets.load import Source
from ansgt.prediction.progressive import expert_weights, likelihoods_of, most_experts
from ansgt.runs import presets
from ansgt.runs.facts import FACTS, Facts
from ansgt.table import Table
from study.scripts.leave_one_out import KINDS, MOST_ON_LARGE, candidates, name_of

ANSGT = "ansgt"
BASELINES = ("mlp", "gcn", "sage", "gat", "gprgnn", "h2gcn", "acmgcn")
"""The families whose best counts; `linkx` is in the table beside them."""
AUTO = (ANSGT, "gcn", "gprgnn", "sage", "acmgcn", "linkx")
"""Families of the product's `model=auto`; the log's rule is about all of them."""
ENOUGH = 0.005
"""Mean regret in validation that a threshold must save."""
MIXTURES = ("effort=best", "model=auto", "auto, all families")

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
            rules.append(Rule(low, high, fact, rule.threshold, found))
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
    """

    plan: dict[str, Any]
    rows: list[Row]
    facts: Mapping[str, Mapping[str, float]]
    stored: Callable[[Row], np.ndarray | None]
    labels: Callable[[str, str, int], tuple[np.ndarray, np.ndarray]]

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
        parts = [part for part in map(self.stored, present) if part is not None]
        if not present or len(parts) < len(present):
            return None
        first = present[0]
        val, test = self.labels(first["dataset"], first["split"], first["index"])
        parts = parts[: max(1, most_experts(len(val)))] if most_experts(len(val)) >= 2 else parts
        probabilities = np.stack(parts).astype(np.float64)
        weights = expert_weights(likelihoods_of(probabilities[:, : len(val)], val))
        mixed = np.tensordot(weights, probabilities[:, len(val) :], axes=1)
        return float((mixed.argmax(axis=1) == test).mean())

    def mixtures(self, graph: str, index: int) -> dict[str, float | None]:
        """Test accuracy of `effort=best` (all candidates of ANS-GT, its default first) and of `model=auto`."""
        own = self.defaults.get((ANSGT, graph))
        names = sorted(self.plan["families"][ANSGT]["candidates"], key=lambda name: name != own)
        best = [row for name in names if (row := self.row(ANSGT, graph, name, index))]
        auto = [self.default_rows(family, graph).get(index) for family in AUTO]
        every = [self.default_rows(family, graph).get(index) for family in self.plan["families"]]
        return {
            MIXTURES[0]: self.mixture(best) if len(best) > 1 else None,
            MIXTURES[1]: self.mixture(auto) if all(auto) else None,
            MIXTURES[2]: self.mixture(every) if all(every) else None,
        }

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


def table(verdict: Verdict) -> Table:
    """Left-out graphs x families: test accuracy of the default in percent."""
    families = list(verdict.plan["families"])
    columns = [*families, *MIXTURES]
    rows: list[list[Any]] = []
    best = set()
    for place, (graph, own) in enumerate(verdict.test.items()):
        chosen = verdict.defaults.get((ANSGT, graph))
        rows.append([graph, own["splits"], chosen, *(_percent(own.get(name)) for name in columns)])
        top = max(own.get(name, 0.0) for name in columns)
        best |= {(place, 3 + at) for at, name in enumerate(columns) if own.get(name) == top}
    formats = dict.fromkeys(columns, ".1f")
    return Table(
        ["left out", "splits", "preset", *columns], rows, formats=formats, best=frozenset(best), missing="-"
    )


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def standings(verdict: Verdict) -> Table:
    """How each way of ours stands to the best baseline: on how many graphs within a point, above it, and the worst gap."""
    rows = []
    for column in (ANSGT, *MIXTURES):
        for name, baselines in (("the seven", BASELINES), ("and linkx", (*BASELINES, "linkx"))):
            gaps = verdict.gaps(column, baselines)
            if not gaps:
                rows.append([column, name, 0, None, None, None, None])
                continue
            worst = min(gaps, key=lambda graph: gaps[graph])
            values = list(gaps.values())
            rows.append(
                [
                    column,
                    name,
                    len(values),
                    sum(value >= -0.01 - 1e-9 for value in values) / len(values),
                    sum(value > 1e-9 for value in values) / len(values),
                    f"{100 * gaps[worst]:+.1f} ({worst})",
                    100 * fmean(values),
                ]
            )
    head = ["ours", "best of", "graphs", "within a point", "above", "worst", "mean"]
    formats = {"within a point": ".0%", "above": ".0%", "mean": "+.2f"}
    return Table(head, rows, formats=formats, missing="-")


def arms(verdict: Verdict) -> Table:
    """Single heuristics, the fixed mixture and the bandit as single models and as experts; mean test accuracy."""
    plan = verdict.plan["arms"]
    singles = [name for name in plan["samplings"] if name not in ("adaptive", "fixed")]
    rows: list[list[Any]] = []
    for graph in plan["datasets"]:
        cells: dict[int, dict[str, Row]] = {}
        for row in verdict.rows:
            if row["family"] == "arms" and row["dataset"] == graph and row["split"] == KINDS[0]:
                cells.setdefault(row["index"], {})[row["candidate"]] = row
        whole = {index: own for index, own in cells.items() if {*singles, "adaptive"} <= set(own)}
        mixed = {
            index: verdict.mixture([own[name] for name in ("adaptive", *singles)])
            for index, own in whole.items()
        }
        whole = {index: own for index, own in whole.items() if mixed[index] is not None}
        if not whole:
            continue
        by_validation = max(
            singles, key=lambda name: fmean(own[name]["val_accuracy"] for own in whole.values())
        )
        by_test = max(singles, key=lambda name: fmean(own[name]["test_accuracy"] for own in whole.values()))

        def difference(minus: str, one: Mapping[int, float | None], whole: dict[int, Any] = whole) -> str:
            pairs = [
                (one[index] or 0.0) - own[minus]["test_accuracy"]
                for index, own in whole.items()
                if minus in own
            ]
            if not pairs:
                return "-"
            error = np.std(pairs, ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else float("nan")
            return f"{100 * fmean(pairs):+.1f} ± {100 * error:.1f}"

        adaptive = {index: own["adaptive"]["test_accuracy"] for index, own in whole.items()}
        rows.append(
            [
                graph,
                len(whole),
                100 * fmean(adaptive.values()),
                difference("fixed", adaptive),
                f"{difference(by_validation, adaptive)} ({by_validation})",
                100 * fmean(value or 0.0 for value in mixed.values()),
                f"{difference(by_test, mixed)} ({by_test})",
            ]
        )
    head = [
        "graph",
        "splits",
        "adaptive",
        "less fixed",
        "less best single on validation",
        "experts",
        "experts less best single on test",
    ]
    return Table(head, rows, formats={"adaptive": ".1f", "experts": ".1f"}, missing="-")


def bandit(verdict: Verdict) -> str:
    """On how many left-out graphs the bandit of ANS-GT's default had acted by the kept epoch."""
    rows = [row for graph in verdict.graphs for row in verdict.default_rows(ANSGT, graph).values()]
    rows = [row for row in rows if "bandit" in row]
    acted = sum(row["bandit"]["acted"] for row in rows)
    settled = sum(row["bandit"]["settled"] for row in rows)
    return f"By the kept epoch the bandit had acted in {acted} of {len(rows)} trained splits, settled in {settled}."


def ablation(verdict: Verdict) -> Table:
    """Validation and test accuracy of changes of the candidate `draws`, less its own, on the first split."""
    rows = []
    for name in verdict.plan["ablation"]:
        pairs = [
            (row, base)
            for row in verdict.rows
            if row["family"] == "ablation" and row["candidate"] == name
            if (base := verdict.row(ANSGT, row["dataset"], "draws", row["index"]))
        ]
        if pairs:
            gains = [
                100 * fmean(one[part] - base[part] for one, base in pairs)
                for part in ("val_accuracy", "test_accuracy")
            ]
            rows.append([name, len(pairs), *gains])
    formats = {"validation": "+.2f", "test": "+.2f"}
    return Table(["change", "graphs", "validation", "test"], rows, formats=formats)


def shipped(verdict: Verdict) -> Table:
    """What ships: every family's rule on all graphs."""
    rows: list[list[Any]] = []
    for family in verdict.plan["families"]:
        rule = verdict.default(family, None)
        if rule is not None:
            rows.append(
                [
                    family,
                    str(rule),
                    100 * rule.regret,
                    len(shared_candidates(verdict.accuracies(family, verdict.graphs))),
                ]
            )
    return Table(
        ["family", "default", "regret in validation", "candidates"],
        rows,
        formats={"regret in validation": ".2f"},
    )


def with_rules(text: str, rules: Mapping[str, presets.Rule]) -> str:
    """The text of a presets file with the rules of some families; all else stays as it is.

    >>> with_rules("families:\n  gcn:\n    rule: {low: default}  # old\n", {"gcn": presets.Rule("wide")})
    'families:\n  gcn:\n    rule: {low: wide}\n'
    """
    for family, rule in rules.items():
        parts = {"low": rule.low}
        if rule.high is not None:
            parts |= {"high": rule.high, "fact": str(rule.fact), "threshold": f"{rule.threshold:.6g}"}
        words = ", ".join(f"{name}: {value}" for name, value in parts.items())
        pattern = rf"(?m)(^  {re.escape(family)}:\n(?:    .*\n)*?    rule: ).*$"
        text, number = re.subn(pattern, lambda found, words=words: f"{found[1]}{{{words}}}", text)
        if number != 1:
            raise ValueError(f"The presets have no rule of family '{family}'.")
    return text


def costs(verdict: Verdict) -> str:
    hours = sum(row.get("seconds_all", 0.0) for row in verdict.rows) / 3600
    return f"{len(verdict.rows)} trained splits, {hours:.1f} hours of one process."


def report(verdict: Verdict) -> str:
    """Everything as Markdown."""
    parts = [
        "# A graph that nobody tuned on",
        "Written by `python -m study.scripts.judge`; rules: [log](log.md), 2026-11-19. Test accuracy in percent, mean over "
        "the splits that all defaults of a graph have; every default was chosen without the graph. `preset` is ANS-GT's.",
        table(verdict).markdown(),
        "## Against the best baseline of every graph\n\nThe best baseline is chosen by its test accuracy.",
        standings(verdict).markdown(),
        "## The bandit\n\n" + bandit(verdict),
        ablation(verdict).markdown(),
        "## Single heuristics as experts\n\nShipped settings, one model, uniform splits; differences are paired.",
        arms(verdict).markdown(),
        "## What ships\n\nThe same rule on all graphs.",
        shipped(verdict).markdown(),
        "## What is missing\n\n" + "\n".join(f"- {line}" for line in verdict.missing()),
        "## Cost\n\n" + costs(verdict),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def open_verdict(folder: Path, source: Source) -> Verdict:
    """The rows of a folder that `leave_one_out` wrote; facts are kept beside them."""
    plan = candidates()
    paths = sorted(
        [*folder.glob("rows-*.jsonl"), *folder.glob("first*.jsonl"), *folder.glob("second*.jsonl")]
    )
    rows = [row for path in paths for row in map(json.loads, path.read_text().splitlines())]
    rows = [row for row in rows if "error" not in row]
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
    return Verdict(plan, rows, facts, stored, labels)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="what study.scripts.leave_one_out wrote")
    parser.add_argument("--root", default="data")
    parser.add_argument("--cache", default=None)
    parser.add_argument("--output", type=Path, help="also write the report there")
    parser.add_argument(
        "--presets", type=Path, help="configs/presets.yaml: write every family's rule into it"
    )
    options = parser.parse_args()
    verdict = open_verdict(options.folder, Source(options.root, options.cache))
    text = report(verdict)
    print(text)
    if options.presets is not None:
        rules = {family: verdict.default(family, None) for family in verdict.plan["families"]}
        known = {family: rule for family, rule in rules.items() if rule is not None}
        options.presets.write_text(with_rules(options.presets.read_text(), known))
    if options.output is not None:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
