"""How the cost of ANS-GT grows with the number of nodes: seconds of its stages on synthetic graphs."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ansgt.bench.measure import growth_exponent
from ansgt.coarsening import resolve, warm_up
from ansgt.graph import Graph, Split
from ansgt.reproduce.table_sampling_time import update_once
from ansgt.reproduce.task import Setup, Task, clocked, one_thread
from ansgt.runs.prepare import prepare_run
from ansgt.runs.seeds import draw_seed, owned_randomness, seed_building
from ansgt.training import build_learner
from ansgt.training.adaptive import AdaptiveLearner

SIZES, QUICK_SIZES = (3_000, 12_000, 48_000), (500, 1_000)
SMALL: dict[str, Any] = {"num_layers": 1, "num_augmentations": 2, "hidden_channels": 64, "num_models": 1}
STAGES = ("coarsening", "training pass", "update")
"""The three costs of section 5.4."""


@dataclass(frozen=True)
class GrowthTask(Task):
    """CPU seconds of the stages on graphs of one mean degree, and the exponents of their growth.

    Args:
        sizes: numbers of nodes.
    """

    sizes: tuple[int, ...]

    def asked(self, setup: Setup) -> dict[str, Any]:
        return {"sizes": list(self.sizes), "settings": SMALL}

    def measure(self, setup: Setup, work: Path) -> dict[str, Any]:
        with one_thread():
            stages_of(min(QUICK_SIZES), setup)  # compiles
            rows = {size: stages_of(size, setup) for size in self.sizes}
        seconds = {stage: {str(size): row[stage] for size, row in rows.items()} for stage in STAGES}
        exponents = {
            stage: growth_exponent(list(self.sizes), [row[stage] for row in rows.values()])
            for stage in STAGES
        }
        return {
            "values": exponents,
            "stages": seconds,
            "threads": 1,
            "cpu_seconds": sum(sum(row.values()) for row in rows.values()),
        }


def stages_of(size: int, setup: Setup) -> dict[str, float]:
    """CPU seconds of coarsening the graph, of a pass over all its training centres, and of an update of the weights."""
    data, config = prepare_run(
        f"synthetic-{size}", "ansgt", source=setup.source, overrides=SMALL, device="cpu", split="given"
    )
    split = data.split(config.split, 0, config.seed)
    coarsener = resolve("vn", rate=0.1)
    warm_up(coarsener)
    learner = _learner(data.graph, split, config, setup)
    return {
        "coarsening": _seconds(lambda: coarsener.fit(data.graph)),
        "training pass": _seconds(learner._pass),
        "update": _seconds(partial(update_once, learner)),
    }


def _learner(graph: Graph, split: Split, config: Any, setup: Setup) -> AdaptiveLearner:
    with owned_randomness(config.device):
        seed_building(config.seed, 0)
        learner = build_learner(config, graph, split, draw_seed(config.seed, 0), setup.cache)
    assert isinstance(learner, AdaptiveLearner)
    return learner


def _seconds(work: Callable[[], Any]) -> float:
    with clocked() as clock:
        work()
    return clock.cpu
