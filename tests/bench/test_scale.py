"""`ansgt bench scale` at toy size: what rows and curves hold, who trains for how long, and what the picture needs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ansgt.bench import measure as measuring
from ansgt.bench import scale
from ansgt.bench.scale import OURS, PEER, Case, Clock, beside, exponents, sample, train_peer, write

TINY = ("hidden_channels=16", "num_heads=2", "num_augmentations=2", "num_sampled=5", "max_candidates=16")
CASE = Case(mean_degree=8.0, epochs=2, overrides=TINY)
STAGES = ["load", "1-hop", "2-hop", "ppr", "knn", "set-up", "epoch 1", "epoch 2", "prediction", "total"]
PARTS = ["coarsening", "mixture", "draw"]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All that the benchmark says of two small graphs, measured in this process."""
    folder, patch = tmp_path_factory.mktemp("scale"), pytest.MonkeyPatch()

    def here(function: Callable[..., dict[str, Any]], *args: Any) -> dict[str, Any]:
        return function(*args)

    with patch.context() as patched:
        patched.setattr(measuring, "isolated", here)
        patched.setattr(scale, "WARM", 300)
        result = scale.bench("400,800", 8.0, 0.5, 2, list(TINY), True, folder / "scale.png", 0)
    return {**result, "picture": folder / "scale.png"}


def test_every_stage_of_every_size_has_a_row(found: dict[str, Any]) -> None:
    names = [(row["num_nodes"], row["stage"]) for row in found["rows"]]
    assert names == [(size, stage) for size in (400, 800) for stage in STAGES + PARTS]
    for size in (400, 800):
        rows = {row["stage"]: row for row in found["rows"] if row["num_nodes"] == size}
        stages = [rows[stage] for stage in STAGES[:-1]]
        assert rows["total"]["cpu_seconds"] == pytest.approx(sum(row["cpu_seconds"] for row in stages))
        assert rows["total"]["peak_gb"] == max(row["peak_gb"] for row in stages)


def test_curves_begin_after_the_preparation_and_end_with_all_test_nodes(found: dict[str, Any]) -> None:
    for curve in found["curves"]:
        seconds = [point["cpu_seconds"] for point in curve["points"]]
        assert seconds == sorted(seconds)
        assert curve["points"][-1] == {name: curve[name] for name in ("cpu_seconds", "accuracy")}
        assert all(0 <= point["accuracy"] <= 1 for point in curve["points"])
    ours, theirs = found["curves"][:2]
    assert (ours["model"], theirs["model"]) == (OURS, PEER)
    before = [row for row in found["rows"] if row["num_nodes"] == 400][: STAGES.index("epoch 1") + 1]
    assert ours["points"][0]["cpu_seconds"] == pytest.approx(sum(row["cpu_seconds"] for row in before))


def test_the_peer_has_the_seconds_that_we_took(found: dict[str, Any]) -> None:
    for ours, theirs in zip(found["curves"][::2], found["curves"][1::2], strict=True):
        assert theirs["cpu_seconds"] >= ours["cpu_seconds"]
        last_but_one = theirs["points"][-2]["cpu_seconds"] if len(theirs["points"]) > 1 else 0
        assert last_but_one < ours["cpu_seconds"]


def test_a_picture_is_drawn(found: dict[str, Any]) -> None:
    assert found["picture"].read_bytes().startswith(b"\x89PNG")


def test_exponents_are_of_cpu_seconds() -> None:
    rows = [
        {"num_nodes": size, "stage": stage, "cpu_seconds": size**power, "seconds": 7.0}
        for size in (10, 100, 1000)
        for stage, power in (("linear", 1.0), ("square", 2.0))
    ]
    assert exponents(rows) == {
        "growth exponent, linear": pytest.approx(1.0),
        "growth exponent, square": pytest.approx(2.0),
    }
    assert exponents(rows[:2]) == {}, "one size grows by nothing"


def test_a_peer_that_does_not_fit_is_left_out() -> None:
    curves = [
        {"num_nodes": 9, "model": OURS, "accuracy": 0.75},
        {"num_nodes": 9, "model": PEER, "accuracy": 0.5},
        {"num_nodes": 99, "model": OURS, "accuracy": 0.5},
        {"num_nodes": 99, "model": PEER, "accuracy": None},
    ]
    found = beside(curves)
    assert found[f"{OURS} less the peer, 9 nodes"] == 0.25
    assert f"{OURS} less the peer, 99 nodes" not in found


def test_the_peer_learns_and_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "WIDTH", 32)
    path = tmp_path / "graph.npz"
    write(path, Case(mean_degree=10.0, train_share=0.5), 600)
    ticks = iter(np.arange(0, 1000, 0.5))
    monkeypatch.setattr(scale.time, "process_time", lambda: float(next(ticks)))
    found = train_peer(path, CASE, 20.0)  # reading takes 0.5 s, an epoch as much, both by this clock
    assert found["epochs"] == 39
    assert found["accuracy"] > 0.3, "40 classes"


def test_a_peer_without_room_is_not_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "graph.npz"
    write(path, Case(mean_degree=4.0), 100)
    monkeypatch.setattr(scale, "KEPT", 1 << 40)
    assert train_peer(path, CASE, 1.0)["accuracy"] is None


def test_scored_nodes_are_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "SCORED", 10)
    nodes = torch.arange(100, 200)
    chosen = sample(nodes)
    assert torch.equal(chosen, sample(nodes))
    assert len(chosen.unique()) == 10
    assert set(chosen.tolist()) <= set(nodes.tolist())
    assert torch.equal(sample(nodes[:7]), nodes[:7])


def test_a_clock_counts_stages_in_their_order() -> None:
    clock = Clock()
    for name in ("one", "two"):
        with clock.stage(name):
            sum(range(100_000))
    assert [row["stage"] for row in clock.rows] == ["one", "two"]
    assert clock.total()["cpu_seconds"] == sum(row["cpu_seconds"] for row in clock.rows)


def test_a_short_run_warms_up_for_a_quarter() -> None:
    assert Case(epochs=8, overrides=("lr=1",)).settings() == ["epochs=8", "warmup_epochs=2", "lr=1"]
    assert Case(epochs=None).settings() == []
