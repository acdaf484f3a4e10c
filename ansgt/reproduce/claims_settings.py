"""What the paper says of coarsening (table 2) and of layers, super-nodes, global nodes and sequences (figures 6-8)."""

import numpy as np
from scipy import stats

from ansgt.reproduce.claim import (
    LEVEL,
    Claim,
    Evidence,
    Finding,
    MissingRecord,
    Verdict,
    all_of,
    gap_of,
    gaps,
    p_words,
)
from ansgt.reproduce.fig_sensitivity import (
    KNOBS,
    FigSensitivity,
    FigSensitivityActor,
    FigSensitivityCiteseer,
    FigSensitivityCora,
)
from ansgt.reproduce.paper import COARSENERS, RATES, RECOMMENDED
from ansgt.reproduce.table_coarsening import TableCoarsening
from ansgt.runs.statistics import Cell

FIGURES: tuple[FigSensitivity, ...] = (FigSensitivityCora(), FigSensitivityCiteseer(), FigSensitivityActor())
SMALL = tuple(rate for rate in RATES if rate <= 0.1)


def _coarsened(evidence: Evidence) -> dict[tuple[str, str, float], Cell]:
    """(Data set, coarsener, rate) -> accuracies; at rate 1 one training stands for all coarseners."""
    item = TableCoarsening()
    return {
        cell: evidence.cell(f"{cell[0]} {cell[1]} {cell[2]:g}", item.task(evidence.setup, *cell))
        for cell in item.cells(evidence.setup)
    }


def coarseners_do_not_matter(evidence: Evidence) -> Finding:
    """Friedman's test over (data set, rate below 1, split): does not hold where p < 0.05."""
    found = _coarsened(evidence)
    blocks = [
        [100 * found[data, method, rate].per_split[index] for method in COARSENERS]
        for data, method_, rate in found
        if method_ == COARSENERS[0] and rate < 1
        for index in range(min(len(found[data, method, rate].per_split) for method in COARSENERS))
    ]
    columns = np.array(blocks).T
    p = float(stats.friedmanchisquare(*columns).pvalue)
    means = ", ".join(
        f"{name.upper()} {mean:.2f}" for name, mean in zip(COARSENERS, columns.mean(axis=1), strict=True)
    )
    return Finding(
        "does not hold" if p < LEVEL else "holds",
        f"Mean over {len(blocks)} pairs of data set and rate: {means}; Friedman's test {p_words(p)}. "
        "It says that no difference was seen, not that there is none.",
    )


def small_rates_are_best(evidence: Evidence) -> Finding:
    """Rates up to 0.1 minus 0.5 and 1.0, paired by data set, coarsener and split."""
    found = _coarsened(evidence)
    rows = []
    for data, method in {(data, method): 0 for data, method, _ in found}:
        cells = {rate: found[data, method, rate] for rate in RATES}
        for index in range(min(len(cell.per_split) for cell in cells.values())):
            values = {rate: 100 * cell.per_split[index] for rate, cell in cells.items()}
            low = np.mean([values[rate] for rate in SMALL])
            high = np.mean([value for rate, value in values.items() if rate not in SMALL])
            rows.append(float(low - high))
    gap = gap_of(rows)
    return Finding(
        gap.positive,
        f"Mean accuracy of rates 0.01 to 0.10 minus that of 0.50 and 1.00, over {len(rows)} pairs of data set "
        f"and coarsener: {gap}.",
    )


def _step(evidence: Evidence, key: str, low: int, high: int) -> tuple[Verdict, str]:
    """Whether accuracy is higher at one value than at another, over the data sets that have both and their splits."""
    symbol, found, names = KNOBS[key].symbol, [], []
    for figure in FIGURES:
        curve = figure.curves(evidence.setup)[key]
        try:
            cells = {
                value: evidence.cell(f"{figure.dataset} {symbol} = {value}", curve[value])
                for value in (low, high)
            }
        except MissingRecord as missing:
            last = missing
            continue
        found.append(gaps(cells[high], cells[low]))
        names.append(figure.dataset)
    if not found:
        raise last
    pairs = np.concatenate(found)
    gap = gap_of(pairs)
    words = f"{symbol} = {high} minus {symbol} = {low} over {len(pairs)} splits of {', '.join(names)}: {gap}"
    return gap.positive, words


def _steps(evidence: Evidence, key: str, *pairs: tuple[int, int]) -> Finding:
    """Holds where accuracy rises significantly from the first to the second value of every pair."""
    steps = [_step(evidence, key, *pair) for pair in pairs]
    return Finding(
        all_of([verdict for verdict, _ in steps]),
        f"Paired by split: {'; '.join(words for _, words in steps)}.",
    )


def layers_help(evidence: Evidence) -> Finding:
    return _steps(evidence, "num_layers", (1, 5))


def too_many_layers(evidence: Evidence) -> Finding:
    return _steps(evidence, "num_layers", (8, 6))


def a_peak_of_supernodes(evidence: Evidence) -> Finding:
    return _steps(evidence, "num_supernodes", (0, 3), (9, 3))


def a_peak_of_globals(evidence: Evidence) -> Finding:
    return _steps(evidence, "num_global", (0, 2), (4, 2))


def sequences_help(evidence: Evidence) -> Finding:
    return _steps(evidence, "num_augmentations", (1, 16))


def hierarchy_helps(evidence: Evidence) -> Finding:
    """Holds where super-nodes and global nodes each help."""
    steps = [_step(evidence, "num_supernodes", 0, 3), _step(evidence, "num_global", 0, 2)]
    return Finding(
        all_of([verdict for verdict, _ in steps]),
        f"Paired by split: {'; '.join(words for _, words in steps)}. "
        "The paper itself has no ablation of it besides these curves.",
    )


def recommended_for_cora(evidence: Evidence) -> Finding:
    """Holds where all four are the highest of their curves, does not where none is."""
    item, parts, first = FIGURES[0], [], 0
    for key, value in RECOMMENDED.items():
        means = {
            at: evidence.known(f"cora {KNOBS[key].symbol} = {at}", number)
            for at, number in item.numbers(evidence.records, evidence.setup)[key].items()
        }
        top = max(means, key=lambda at: means[at])
        first += means[value] >= means[top]
        parts.append(
            f"{KNOBS[key].symbol} = {value} has {means[value]:.2f}, the highest is {means[top]:.2f} ({top})"
        )
    verdict: Verdict = "holds" if first == len(RECOMMENDED) else "cannot tell" if first else "does not hold"
    return Finding(verdict, f"On Cora, with the other settings as shipped: {'; '.join(parts)}.")


CLAIMS = (
    Claim(
        "Section 6.2, table 2",
        "There is no significant difference between coarsening algorithms.",
        coarseners_do_not_matter,
    ),
    Claim(
        "Section 6.2, table 2",
        "Coarsening rates from 0.01 to 0.10 have the best performance.",
        small_rates_are_best,
    ),
    Claim(
        "Section 1",
        "Ablation studies show the superiority of the hierarchical attention scheme.",
        hierarchy_helps,
    ),
    Claim("Appendix C.1, figures 6-8", "Performance increases at first with more layers.", layers_help),
    Claim("Appendix C.1", "It decreases slightly when there are more than 6 layers.", too_many_layers),
    Claim(
        "Appendix C.1",
        "With more super-nodes it increases up to a peak and then decreases.",
        a_peak_of_supernodes,
    ),
    Claim(
        "Appendix C.1",
        "With more global nodes it increases up to a peak and then decreases.",
        a_peak_of_globals,
    ),
    Claim(
        "Appendix C.1",
        "With more sequences per node it improves steadily until it stabilises.",
        sequences_help,
    ),
    Claim(
        "Appendix C.1",
        "5 layers, 3 super-nodes, 2 global nodes and 16 sequences are best for Cora.",
        recommended_for_cora,
    ),
)
