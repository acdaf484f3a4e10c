"""What a graph that nobody tuned on would have got: tables of the verdict on the rows of `study.scripts.leave_one_out`.

    python -m study.scripts.judge study/results/leave_one_out --root DATA --output study/defaults.md \\
        --presets configs/presets.yaml
"""

import argparse
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ansgt.datasets.load import Source
from ansgt.runs import presets
from ansgt.table import Table
from study.scripts.leave_one_out import KINDS
from study.scripts.verdict import (
    ANSGT,
    BASELINES,
    MIXED,
    MIXTURES,
    Row,
    Verdict,
    open_verdict,
    shared_candidates,
)


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
    names = [("arms", name) for name in plan["datasets"]]
    for family, graph in [*names, *(("arms+links", name) for name in plan["with_links"])]:
        cells: dict[int, dict[str, Row]] = {}
        for row in verdict.rows:
            if row["family"] == family and row["dataset"] == graph and row["split"] == KINDS[0]:
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

        def difference(
            minus: str | None, one: Mapping[int, float | None], whole: dict[int, Any] = whole
        ) -> str:
            """`minus`: None for the single one that each split's own validation part chooses."""
            pairs = [
                (one[index] or 0.0) - own[name]["test_accuracy"]
                for index, own in whole.items()
                if (name := minus or max(singles, key=lambda each: own[each]["val_accuracy"])) in own
            ]
            if not pairs:
                return "-"
            error = np.std(pairs, ddof=1) / np.sqrt(len(pairs)) if len(pairs) > 1 else float("nan")
            return f"{100 * fmean(pairs):+.1f} ± {100 * error:.1f}"

        adaptive = {index: own["adaptive"]["test_accuracy"] for index, own in whole.items()}
        rows.append(
            [
                graph + (" with links" if family != "arms" else ""),
                len(whole),
                100 * fmean(adaptive.values()),
                difference("fixed", adaptive),
                f"{difference(by_validation, adaptive)} ({by_validation})",
                difference(None, adaptive),
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
        "less each split's best on validation",
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
        if rule.best:
            parts["best"] = f"[{', '.join(rule.best)}]"
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
        "Written by `python -m study.scripts.judge`; rules: [log](log.md), 2026-11-19. Test accuracy in percent,\nmean over "
        "the splits that all defaults of a graph have; every default was chosen without the graph. `preset` is ANS-GT's.",
        table(verdict).markdown(),
        "## Against the best baseline of every graph\n\nThe best baseline is chosen by its test accuracy.",
        standings(verdict).markdown(),
        "## The bandit\n\n" + bandit(verdict),
        ablation(verdict).markdown()
        if ablation(verdict).rows
        else "The candidates of `ablation` are not trained.",
        "## Single heuristics as experts\n\nShipped settings, one model, uniform splits; differences are paired.",
        arms(verdict).markdown(),
        "## What ships\n\nThe same rule on all graphs.",
        shipped(verdict).markdown(),
        "## What is missing\n\n" + "\n".join(f"- {line}" for line in verdict.missing()),
        "## Cost\n\n" + costs(verdict),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


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
    (options.folder / MIXED).write_text(json.dumps(verdict.mixed, indent=0, sort_keys=True))
    if options.presets is not None:
        rules = {family: verdict.default(family, None) for family in verdict.plan["families"]}
        known = {
            family: replace(rule, best=tuple(verdict.survivors(family)))
            for family, rule in rules.items()
            if rule is not None
        }
        options.presets.write_text(with_rules(options.presets.read_text(), known))
    if options.output is not None:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
