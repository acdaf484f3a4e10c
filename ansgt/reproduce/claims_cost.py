"""What the paper says of cost: tables 4, 5 and 6, and that it grows linearly."""

from collections.abc import Mapping

from ansgt.reproduce.claim import Claim, Evidence, Finding, MissingRecord, Verdict
from ansgt.reproduce.growth import QUICK_SIZES, SIZES, STAGES, GrowthTask
from ansgt.reproduce.item import measured
from ansgt.reproduce.paper import SIX
from ansgt.reproduce.table_coarsening_time import TableCoarseningTime
from ansgt.reproduce.table_epoch_time import TableEpochTime
from ansgt.reproduce.table_sampling_time import TableSamplingTime
from ansgt.reproduce.task import Setup

EPOCHS = 1000
"""Of a training as section 6.1 describes it."""
TRIVIAL = 0.01
"""A share of the training from here down is called trivial."""
COMPARABLE = 1.25
"""Two costs are comparable where the larger is at most so many times the smaller."""
MUCH = 1.5
"""One is much better than the other where it is less than the other by this factor."""
LINEAR = 1.2
"""Growth with an exponent up to here counts as linear."""


def _epochs(evidence: Evidence, *models: str) -> dict[str, dict[str, float]]:
    """Model -> data set -> seconds per epoch, for the data sets that have records of all these models."""
    found: dict[str, dict[str, float]] = {model: {} for model in models}
    missing = ""
    for name in SIX:
        tasks = [
            task
            for task in TableEpochTime().tasks(evidence.setup)
            if task.dataset == name and task.model in models
        ]
        numbers = {task.model: measured(evidence.records, task, "epoch_s") for task in tasks}
        lost = [number.record for number in numbers.values() if number.value is None]
        if lost:
            missing = lost[0]
            continue
        for model, number in numbers.items():
            found[model][name] = evidence.known(f"epoch of {model} on {name} (s)", number)
    if not found[models[0]]:
        raise MissingRecord(missing)
    return found


def coarsening_is_cheap(evidence: Evidence) -> Finding:
    """Holds where the slowest coarsening takes under one per cent of a training of 1,000 epochs."""
    epochs = _epochs(evidence, "ansgt")["ansgt"]
    shares = {}
    timed = [task for task in TableCoarseningTime().tasks(evidence.setup) if task.dataset in epochs]
    for task in timed:
        for rate in task.rates:
            name = f"{task.dataset} {task.method} {rate:g} (s)"
            seconds = evidence.known(name, measured(evidence.records, task, f"{rate}"))
            shares[name] = seconds / (EPOCHS * epochs[task.dataset])
    if not shares:
        raise MissingRecord("of an epoch on Cora and Actor")
    worst = max(shares, key=lambda name: shares[name])
    return Finding(
        "holds" if shares[worst] < TRIVIAL else "does not hold",
        f"The largest share of a training of {EPOCHS:,} epochs of section 6.1's size: {100 * shares[worst]:.4f} % "
        f"({worst.removesuffix(' (s)')}).",
    )


def updates_are_trivial(evidence: Evidence) -> Finding:
    """Holds where an epoch's share of an update is under one per cent of the epoch on the data sets that were timed."""
    epochs, shares = _epochs(evidence, "ansgt")["ansgt"], {}
    for task in [task for task in TableSamplingTime().tasks(evidence.setup) if task.dataset in epochs]:
        number = measured(evidence.records, task, "per_epoch_s")
        seconds = evidence.known(f"updates per epoch on {task.dataset} (s)", number)
        shares[task.dataset] = seconds / epochs[task.dataset]
    words = ", ".join(f"{name} {100 * share:.2f} %" for name, share in shares.items())
    return Finding(
        "holds" if max(shares.values()) < TRIVIAL else "does not hold",
        f"Share of the updates (one per 100 epochs) in the training: {words}.",
    )


def costs_like_gophormer(evidence: Evidence) -> Finding:
    """Holds where the two are within a quarter of each other on the data sets that were timed."""
    found = _epochs(evidence, "ansgt", "gophormer")
    ratios = _ratios(found["ansgt"], found["gophormer"])
    near = all(1 / COMPARABLE <= ratio <= COMPARABLE for ratio in ratios.values())
    return Finding("holds" if near else "does not hold", f"ANS-GT over Gophormer: {_words(ratios)}.")


def costs_less_than_graphormer(evidence: Evidence) -> Finding:
    """Holds where Graphormer takes at least one and a half times as long on every data set that was timed."""
    found = _epochs(evidence, "ansgt", "graphormer")
    ratios = _ratios(found["graphormer"], found["ansgt"])
    much = [name for name, ratio in ratios.items() if ratio >= MUCH]
    verdict: Verdict = "holds" if len(much) == len(ratios) else "does not hold"
    return Finding(
        verdict,
        f"Graphormer over ANS-GT: {_words(ratios)}. Graphormer, which takes one step per epoch over all pairs, costs much "
        f"more on {', '.join(much) or 'none'}; ANS-GT reads 16 sequences per centre whatever the size of the graph.",
    )


def _ratios(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: seconds / other[name] for name, seconds in one.items()}


def _words(ratios: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())


def growth_task(setup: Setup) -> GrowthTask:
    """The one record that is made for the claims alone."""
    sizes = QUICK_SIZES if setup.quick else SIZES
    folder = f"reproduce/claims/{'quick' if setup.quick else 'full'}"
    return GrowthTask(f"{folder}/growth", 5.0 if setup.quick else 120.0, sizes)


def linear_in_nodes(evidence: Evidence) -> Finding:
    """Holds where no stage grows with an exponent above 1.2."""
    task = growth_task(evidence.setup)
    if evidence.records.get(task.path, task.seconds) is None:
        raise MissingRecord(f"{task.path}.json")
    found = {
        stage: evidence.known(f"exponent of {stage}", measured(evidence.records, task, stage))
        for stage in STAGES
    }
    words = ", ".join(f"{stage} {value:.2f}" for stage, value in found.items())
    return Finding(
        "holds" if max(found.values()) <= LINEAR else "does not hold",
        f"Exponents of CPU seconds over nodes on synthetic graphs of {SIZES[0]:,} to {SIZES[-1]:,} nodes: {words}.",
    )


CLAIMS = (
    Claim(
        "Section 5.4",
        "The computational complexity of ANS-GT is linear in the number of nodes.",
        linear_in_nodes,
    ),
    Claim("Appendix C.2, table 4", "The time of graph coarsening is acceptable.", coarsening_is_cheap),
    Claim("Appendix C.2, table 5", "The time of adaptive node sampling is trivial.", updates_are_trivial),
    Claim(
        "Appendix C.2, table 6",
        "ANS-GT has a training time comparable with Gophormer's.",
        costs_like_gophormer,
    ),
    Claim(
        "Appendix C.2, table 6",
        "Its efficiency is much better than Graphormer's.",
        costs_less_than_graphormer,
    ),
)
