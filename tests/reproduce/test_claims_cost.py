"""Claims on cost, from records that are written by hand."""

from pathlib import Path

import pytest

from ansgt.reproduce.claim import Evidence
from ansgt.reproduce.claims_cost import (
    coarsening_is_cheap,
    costs_less_than_graphormer,
    costs_like_gophormer,
    growth_task,
    linear_in_nodes,
    updates_are_trivial,
)
from ansgt.reproduce.paper import COARSENING_SECONDS, EPOCH_SECONDS, SAMPLING_SECONDS
from ansgt.reproduce.records import Records
from ansgt.reproduce.table_coarsening_time import TableCoarseningTime
from ansgt.reproduce.table_epoch_time import TableEpochTime
from ansgt.reproduce.table_sampling_time import TableSamplingTime
from ansgt.reproduce.task import Setup
from ansgt.storage import write_json


@pytest.fixture
def printed(tmp_path: Path) -> Evidence:
    """The paper's own seconds, as if they were ours."""
    setup = Setup()
    for task in TableEpochTime().tasks(setup):
        values = {"epoch_s": EPOCH_SECONDS[task.model][task.dataset]}
        write_json(tmp_path / f"{task.path}.json", {"values": values})
    for update in TableSamplingTime().tasks(setup):
        values = {"per_epoch_s": SAMPLING_SECONDS[update.dataset] / 100}
        write_json(tmp_path / f"{update.path}.json", {"values": values})
    for coarsen in TableCoarseningTime().tasks(setup):
        values = {
            f"{rate}": COARSENING_SECONDS[coarsen.dataset, coarsen.method, rate] for rate in coarsen.rates
        }
        write_json(tmp_path / f"{coarsen.path}.json", {"values": values})
    return Evidence(Records(tmp_path), setup)


def test_the_papers_own_seconds_would_hold(printed: Evidence) -> None:
    for find in (coarsening_is_cheap, updates_are_trivial, costs_like_gophormer, costs_less_than_graphormer):
        assert find(printed).verdict == "holds", find.__name__


def test_a_slow_update_refutes_it(printed: Evidence) -> None:
    [task] = [task for task in TableSamplingTime().tasks(Setup()) if task.dataset == "actor"]
    write_json(printed.records.folder / f"{task.path}.json", {"values": {"per_epoch_s": 3.0}})
    finding = updates_are_trivial(Evidence(Records(printed.records.folder), Setup()))
    assert finding.verdict == "does not hold"
    assert "actor 24.51 %" in finding.words


def test_data_sets_without_times_are_left_out(printed: Evidence) -> None:
    for task in TableEpochTime().tasks(Setup()):
        if task.dataset != "cora" and task.model == "graphormer":
            (printed.records.folder / f"{task.path}.json").unlink()
    evidence = Evidence(Records(printed.records.folder), Setup())
    assert "Graphormer over ANS-GT: cora 2.23." in costs_less_than_graphormer(evidence).words
    assert "squirrel 1.00" in costs_like_gophormer(evidence).words


@pytest.mark.parametrize(("exponent", "verdict"), [(1.1, "holds"), (1.9, "does not hold")])
def test_growth(tmp_path: Path, exponent: float, verdict: str) -> None:
    values = {"coarsening": 1.0, "training pass": exponent, "update": 0.9}
    write_json(tmp_path / f"{growth_task(Setup()).path}.json", {"values": values})
    assert linear_in_nodes(Evidence(Records(tmp_path), Setup())).verdict == verdict
