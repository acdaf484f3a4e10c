"""The results page, study/results.md, generated from the records under study/results: none of its numbers is typed by hand.

`runs` holds records of the shipped settings, `float32` those of the same settings in float32.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ansgt.reproduce.paper import ACCURACY, NINE
from ansgt.reproduce.records import VARIANTS, ablation_cells, gap, read_cells
from ansgt.runs.statistics import Cell, paired_difference, paired_differences
from study.report.findings import findings

MODELS = "models per split"
DAGGER = "†"
"""Marks a figure of several models a split."""
HEAD = """# Results

Generated from the records under `study/results/` by `make results`; every number is the mean ± standard deviation of test
accuracy (%) over the splits of the named kind, the epoch chosen on validation. Settings: `configs/`, found on validation
([log](log.md) says on which splits). ANS-GT's had a larger budget than those of the baselines, on some data sets the
validation parts of all ten splits ([baselines](baselines.md)). A dash means: not run yet. Two splits are called 60/20/20
and give different numbers: never compare across them. The paper's row is what it prints, for a split it does not describe.
Where ANS-GT is several models a split (†), so it is in the ablations and in the paired differences.
"""


def results_page(results: Path | str, kinds: Sequence[str]) -> str:
    """The whole page in Markdown, from the folders runs and float32 of `results`, and its note.md."""
    folder, parts = Path(results) / "runs", [HEAD]
    note = Path(results) / "note.md"
    if note.exists():
        parts.append(note.read_text())
    for kind in kinds:
        cells = read_cells(folder, kind)
        if not cells:
            continue
        parts.append(f"## {kind}\n")
        parts.append(accuracy_table(cells))
        parts.append(findings(folder, kind))
        parts.append(f"### ANS-GT against its own ablations, {kind}\n")
        parts.append(ablation_table(folder, kind))
        exact = read_cells(Path(results) / "float32", kind)
        if exact:
            parts.append(f"### bfloat16 against float32, {kind}\n")
            parts.append(precision_table(cells, exact))
        parts.append(f"### Paired differences to ANS-GT, {kind}\n")
        parts.append(difference_table(cells))
    return "\n".join(parts)


def accuracy_table(cells: Sequence[Cell]) -> str:
    """Models by data sets, the paper's own figure for ANS-GT in the last row."""
    found = {(cell.model, cell.dataset): cell for cell in cells}
    models = [m for m in dict.fromkeys(c.model for c in cells) if m not in VARIANTS]
    models.sort(key=lambda name: (name != "ansgt", name))
    rows = [
        [
            name,
            *(_marked(found.get((name, dataset))) for dataset in NINE),
            _models(c for c in cells if c.model == name),
        ]
        for name in models
    ]
    several = {c.dataset: c for c in cells if c.model == "ansgt" and c.one_model}
    if several:
        alone = [_one_model(found.get(("ansgt", dataset))) for dataset in NINE]
        rows.insert(1, ["ansgt, one model", *alone, "1"])
    paper = ["*paper's ANS-GT*", *(f"*{ACCURACY['ansgt'][dataset]:.2f}*" for dataset in NINE), "-"]
    table = _markdown(["model", *NINE, MODELS], [*rows, paper])
    if several:
        counts = ", ".join(f"{c.num_models} on {name}" for name, c in several.items())
        table += (
            f"\n{DAGGER} several models a split that differ by their seed, and predict by their mean ({counts}); "
            '"one model": what such a model has by itself on average. Every other figure is of one model a split.\n'
        )
    return table


def _models(cells: Iterable[Cell]) -> str:
    """Models per split of some cells: "1", or "1 to 4"."""
    numbers = sorted({cell.num_models for cell in cells})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _marked(cell: Cell | None) -> str:
    return _words(cell) + (DAGGER if cell is not None and cell.num_models > 1 else "")


def _one_model(cell: Cell | None) -> str:
    if cell is None or not cell.one_model:
        return _words(cell)
    return _words(
        replace(
            cell,
            per_split=cell.one_model,
            mean=float(np.mean(cell.one_model)),
            std=float(np.std(cell.one_model)),
        )
    )


def ablation_table(runs: Path, kind: str) -> str:
    """Adaptive, fixed mixture and single heuristics, with the probabilities that the bandit ended with.

    And the two questions one asks of a bandit: is it worse than not learning, and is it as good as knowing the best
    heuristic beforehand? "Of one model" is the gap between the averages of single models, which more seeds stand behind
    where a split has several.
    """
    rows = []
    for dataset in NINE:
        found = ablation_cells(runs, dataset, kind)
        if not found:
            continue
        values = [_marked(found.get(name)) for name in ("ansgt", *VARIANTS)]
        gaps = [
            _signed(gap(found, names, one_model))
            for names in (VARIANTS[:1], VARIANTS[1:])
            for one_model in (False, True)
        ]
        rows.append([dataset, *values, *gaps, _models(found.values()), learned(runs, dataset, kind)])
    head = ["data set", "adaptive", "fixed (HGT)", *(name.removeprefix("ansgt-") for name in VARIANTS[1:])]
    gaps = ["adaptive - fixed", "of one model", "adaptive - best single", "of one model"]
    return _markdown([*head, *gaps, MODELS, "learned p (%)"], rows)


def _signed(points: float | None) -> str:
    return "-" if points is None else f"{points:+.2f}"


def precision_table(cells: Sequence[Cell], exact: Sequence[Cell]) -> str:
    """The same settings and splits in both precisions."""
    rows = []
    for cell in exact:
        half = next(c for c in cells if (c.model, c.dataset) == (cell.model, cell.dataset))
        pair = paired_difference(half, cell)
        rows.append(
            [
                cell.dataset,
                _words(half),
                _words(cell),
                f"{100 * pair.mean:+.2f}",
                _interval(pair.low, pair.high),
                "-" if pair.p is None else f"{pair.p:.3f}",
            ]
        )
    return _markdown(["data set", "bfloat16", "float32", "difference", "95 % interval", "p"], rows)


def learned(folder: Path | str, dataset: str, kind: str) -> str:
    """Mean probabilities of the heuristics at the kept epoch, e.g. "1-hop 93, 2-hop 4, ppr 1, knn 2"."""
    stored = json.loads((Path(folder) / f"ansgt--{dataset}--{kind}.json").read_text())
    splits = [row["p"] for row in stored["splits"]]
    means = [100 * sum(column) / len(splits) for column in zip(*splits, strict=True)]
    return ", ".join(f"{name} {mean:.0f}" for name, mean in zip(stored["heuristics"], means, strict=True))


def difference_table(cells: Sequence[Cell]) -> str:
    """Model minus ANS-GT on the same splits, in points, with the 95 % interval and Holm-corrected p."""
    whole = [cell for cell in cells if _comparable(cell, cells)]
    number_of = {(cell.model, cell.dataset): cell.num_models for cell in cells}
    rows = [
        [
            d.dataset,
            d.model,
            f"{number_of[d.model, d.dataset]} : {number_of['ansgt', d.dataset]}",
            f"{100 * d.mean:+.2f}",
            _interval(d.low, d.high),
            "-" if d.p_holm is None else f"{d.p_holm:.3f}",
        ]
        for d in paired_differences(whole, "ansgt")
    ]
    rows.sort(key=lambda row: (NINE.index(row[0]), row[1]))
    return _markdown(["data set", "model", MODELS, "difference", "95 % interval", "p (Holm)"], rows)


def _comparable(cell: Cell, cells: Sequence[Cell]) -> bool:
    """Whether ANS-GT was run on exactly the same splits."""
    return any(
        c.model == "ansgt" and c.dataset == cell.dataset and c.split_hashes == cell.split_hashes
        for c in cells
    )


def _words(cell: Cell | None) -> str:
    if cell is None or cell.mean is None or cell.std is None:
        return "-"
    count = "" if len(cell.per_split) == 10 else f" (n={len(cell.per_split)})"
    return f"{100 * cell.mean:.2f} ± {100 * cell.std:.2f}{count}"


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{100 * low:+.2f} … {100 * high:+.2f}"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "Nothing yet.\n"
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"
