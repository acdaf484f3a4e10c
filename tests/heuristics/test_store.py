"""Rows on disk are the rows that were computed, and whatever happened to a file costs time alone."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from ansgt import seal
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.heuristics import (
    HEURISTICS,
    OneHop,
    StoredHeuristic,
    fit_heuristics,
    heuristic_names,
    resolve,
    rows_are_stored,
    store,
    stored_heuristics,
)
from ansgt.sequences import SequenceSettings
from ansgt.storage import DiskCache
from ansgt.testing import check_rows, random_graph

NAMES = list(HEURISTICS)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 16 nodes, blocks of 4, on a graph of 60 nodes that counts as large."""
    monkeypatch.setattr("ansgt.heuristics.base.SMALL", 10)
    monkeypatch.setattr(store, "SHARD", 16)
    for kind in HEURISTICS.values():
        monkeypatch.setattr(kind, "block_size", 4)


def filled(name: str, graph: Graph, folder: Path) -> StoredHeuristic:
    stored = StoredHeuristic(resolve(name, max_candidates=5), DiskCache(folder)).fit(graph)
    list(stored.complete())
    return stored


@pytest.mark.parametrize("name", NAMES)
def test_stored_rows_are_the_computed_ones_bit_for_bit(name: str, tmp_path: Path) -> None:
    graph = random_graph(num_isolated=3)
    table = resolve(name, max_candidates=5).fit(graph)
    stored = filled(name, graph, tmp_path)
    assert len(stored.shards) == 4
    nodes = np.random.default_rng(0).integers(0, 60, 100)  # in no order, some twice
    for asked in (np.arange(60), np.arange(10, 30), np.sort(nodes), nodes, np.array([], dtype=np.int64)):
        rows, expected = stored.rows(asked), table.rows(asked)
        check_rows(rows, asked, 60)
        assert rows.dtype == np.float32
        assert rows.has_sorted_indices
        np.testing.assert_array_equal(rows.indptr, expected.indptr)
        np.testing.assert_array_equal(rows.indices, expected.indices)
        np.testing.assert_array_equal(rows.data, expected.data)


def test_nodes_that_are_not_there_are_refused(tmp_path: Path) -> None:
    stored = filled("1-hop", random_graph(), tmp_path)
    with pytest.raises(InputError, match="names node 60, but the graph has 60"):
        stored.rows(np.array([3, 60]))


def test_what_is_finished_is_kept(tmp_path: Path) -> None:
    graph = random_graph()
    stored = filled("ppr", graph, tmp_path)
    times = [stored.shards.path(number).stat().st_mtime_ns for number in range(4)]
    stored.shards.path(2).unlink()
    assert not stored.is_complete
    assert list(stored.complete()) == [44, 48, 52, 56, 60]  # 16 rows are missing, computed in blocks of 4
    after = [stored.shards.path(number).stat().st_mtime_ns for number in range(4)]
    assert [one == other for one, other in zip(times, after, strict=True)] == [True, True, False, True]


def test_a_store_belongs_to_a_graph_and_to_settings(tmp_path: Path) -> None:
    filled("ppr", random_graph(), tmp_path)
    cache = DiskCache(tmp_path)
    for graph, settings in (
        (random_graph(seed=1), {"max_candidates": 5}),
        (random_graph(), {"max_candidates": 6}),
        (random_graph(), {"max_candidates": 5, "restart_prob": 0.2}),
    ):
        other = StoredHeuristic(resolve("ppr", **settings), cache).fit(graph)
        assert other.shards.missing() == [0, 1, 2, 3]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_place(path: Path) -> None:
    path.write_bytes(path.with_name("000000.safetensors").read_bytes())


def by_somebody_else(path: Path) -> None:
    parts = load_file(path)
    parts["data"] = np.roll(parts["data"], 1)
    forged = seal.hmac.new(b"0" * 32, b"anything", "sha256").hexdigest()
    save_file(parts, path, metadata={"seal": forged})


def a_huge_header(path: Path) -> None:
    path.write_bytes((2**62).to_bytes(8, "little") + path.read_bytes()[8:])


@pytest.mark.parametrize("harm", [flipped, cut, emptied, of_another_place, by_somebody_else, a_huge_header])
@pytest.mark.parametrize("opened", [False, True], ids=["unread", "read before"])
def test_a_file_that_is_not_what_was_stored_is_noticed(harm: object, opened: bool, tmp_path: Path) -> None:
    graph = random_graph()
    stored = filled("2-hop", graph, tmp_path)
    expected = stored.rows(np.arange(60)).toarray()
    again = stored if opened else StoredHeuristic(stored.heuristic, DiskCache(tmp_path)).fit(graph)
    harm(stored.shards.path(1))  # type: ignore[operator]
    assert again.shards.read(1) is None
    with pytest.warns(UserWarning, match="000001.safetensors is damaged or not yours"):
        np.testing.assert_array_equal(again.rows(np.arange(60)).toarray(), expected)
    assert again.shards.read(1) is not None, "what was computed again is stored again"


def test_prepare_notices_damage_too(tmp_path: Path) -> None:
    stored = filled("2-hop", random_graph(), tmp_path)
    flipped(stored.shards.path(3))
    assert next(stored.complete()) == 48


def test_a_store_that_cannot_be_written_costs_time_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = random_graph()
    stored = filled("1-hop", graph, tmp_path)
    expected = stored.rows(np.arange(60)).toarray()
    stored.shards.path(0).unlink()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "save_file", full)
    with pytest.warns(UserWarning, match="cannot be stored"):
        np.testing.assert_array_equal(stored.rows(np.arange(60)).toarray(), expected)


def test_without_a_cache_nothing_can_be_stored() -> None:
    with pytest.raises(InputError, match="cache"):
        StoredHeuristic(OneHop(), DiskCache(None))


def test_complete_stores_are_what_a_pipeline_gets(tmp_path: Path) -> None:
    graph, cache, settings = random_graph(), DiskCache(tmp_path), SequenceSettings(max_candidates=5)
    before = fit_heuristics(settings, graph, cache)
    stored = stored_heuristics(settings, graph, cache)
    for heuristic in stored[:2]:
        list(heuristic.complete())
    after = fit_heuristics(settings, graph, cache)
    assert [isinstance(one, StoredHeuristic) for one in after] == [True, True, False, False]
    assert heuristic_names(after) == heuristic_names(before) == ["1-hop", "2-hop", "ppr", "knn"]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one.rows(np.arange(60)).toarray(), other.rows(np.arange(60)).toarray())
    assert not rows_are_stored(settings, graph, cache)
    for heuristic in stored[2:]:
        list(heuristic.complete())
    assert rows_are_stored(settings, graph, cache)
    again = fit_heuristics(settings, random_graph(seed=1), cache)
    assert not any(isinstance(one, StoredHeuristic) for one in again)


def test_heuristics_of_ones_own_are_not_stored(tmp_path: Path) -> None:
    class Mine(OneHop):
        pass

    settings = SequenceSettings(heuristics=["1-hop", Mine(), OneHop(max_candidates=3)])
    found = stored_heuristics(settings, random_graph(), DiskCache(tmp_path))
    assert [type(one.heuristic) for one in found] == [OneHop, OneHop]
    assert found[0].shards.key != found[1].shards.key


KILLED = """
    import os, signal, sys
    import numpy as np
    from ansgt.heuristics import StoredHeuristic, base, resolve, store
    from ansgt.heuristics.ppr import PPR
    from ansgt.storage import DiskCache
    from ansgt.testing import random_graph
    base.SMALL, store.SHARD, PPR.block_size = 10, 16, 4
    stored = StoredHeuristic(resolve("ppr", max_candidates=5), DiskCache(sys.argv[1])).fit(random_graph())
    for done in stored.complete():
        if done == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_a_shard_at_most(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), "40"]
    environment = {**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[2])}
    assert subprocess.run(command, env=environment, check=False).returncode == -9
    graph = random_graph()
    stored = StoredHeuristic(resolve("ppr", max_candidates=5), DiskCache(tmp_path)).fit(graph)
    assert stored.shards.missing() == [2, 3]
    list(stored.complete())
    expected = resolve("ppr", max_candidates=5).fit(graph).rows(np.arange(60))
    np.testing.assert_array_equal(stored.rows(np.arange(60)).toarray(), expected.toarray())


def test_features_decide_what_is_stored(tmp_path: Path) -> None:
    graph = random_graph()
    stored = filled("knn", graph, tmp_path)
    other = graph.with_features(torch.roll(graph.x, 1, dims=0))
    assert StoredHeuristic(stored.heuristic, DiskCache(tmp_path)).fit(other).shards.missing() == [0, 1, 2, 3]
