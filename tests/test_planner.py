"""The plan: what is held shrinks with the budget, nothing is refused that fits, and the refusal names what to change."""

from dataclasses import replace

import pytest
import torch

from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.planner import Load, Plan, plan_sequences
from ansgt.sequences import SequenceSettings
from ansgt.stages import Log, listening
from ansgt.testing import random_graph

CPU = torch.device("cpu")
HELD = 500 << 20
"""What the process holds before, in these tests."""
LOAD = Load(num_centres=9_000, redrawn=True)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return random_graph(30_000, num_features=16)


@pytest.fixture(autouse=True)
def _held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.planner.process_memory", lambda: (HELD, HELD))


def plan(graph: Graph, memory: int | str | None, stored: bool = False, load: Load = LOAD) -> Plan:
    return plan_sequences(graph, SequenceSettings(memory=memory), CPU, load, stored)


def test_less_memory_holds_less(graph: Graph) -> None:
    plans = []
    for size in range(200 << 30, HELD, -(50 << 20)):
        try:
            plans.append(plan(graph, size, load=replace(LOAD, redrawn=False)))
        except InputError:
            break
    ways = list(dict.fromkeys((one.rows, one.mixture, one.sequences) for one in plans))
    assert ways == [
        ("held", "held", "held"),
        ("held", "streamed", "held"),
        ("held", "streamed", "streamed"),
        ("computed", "streamed", "streamed"),
    ]
    assert all(one.bytes <= one.budget for one in plans)
    assert plan(graph, plans[-1].budget, stored=True).rows == "stored"


def test_what_fits_in_no_way_is_refused_with_what_to_change(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"needs about .* GiB .* 0.5 GiB are allowed: set memory higher, or"):
        plan(graph, HELD + 1)


def test_by_default_half_of_what_is_free(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansgt.planner.available_bytes", lambda device: 6 << 30)
    assert plan(graph, None).budget == HELD + (3 << 30)
    assert plan(graph, "2G").budget == 2 << 30


def test_large_tables_that_every_epoch_makes_anew_are_streamed(graph: Graph) -> None:
    large = replace(LOAD, num_centres=100_000)
    assert plan(graph, "900G", load=large).sequences == "streamed"
    assert plan(graph, "900G", load=replace(large, redrawn=False)).sequences == "held"


def test_portions_and_blocks_are_whole_chunks_and_batches(graph: Graph) -> None:
    found = plan(graph, "20G", load=replace(LOAD, batch_size=48))
    assert found.portion % 256 == 0
    assert found.block % 48 == 0
    assert found.kept >= found.portion
    beyond = min(found.kept, graph.num_nodes - LOAD.num_centres) - found.portion
    assert (found.parts["kept sequences"] > 0) == (beyond > 0)


def test_the_choice_is_said_on_one_line(graph: Graph) -> None:
    with listening(Log()) as log:
        plan(graph, "20G")
    assert len(log.notes) == 1
    assert "of 20.0 GiB; heuristics' rows held" in log.notes[0]
