"""The verdict on made-up rows: defaults without the left-out graph, thresholds that pay, mixtures, what is missing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import yaml

from ansgt.config import CONFIG_FOLDERS
from ansgt.runs.facts import FACTS
from study.scripts.judge import arms, report, standings, with_rules
from study.scripts.verdict import Row, Rule, Verdict, choose

GRAPHS = ["a", "b", "c", "d"]
FAMILIES = ("ansgt", "mlp", "linkx", "gcn", "sage", "gat", "gprgnn", "h2gcn", "acmgcn")
PLAN: dict[str, Any] = {
    "datasets": GRAPHS,
    "large_graphs": [],
    "splits": "uniform-60-20-20",
    "families": {name: {"candidates": {"one": {}, "two": {}}} for name in FAMILIES},
    "ablation": {"pilot": {}},
    "arms": {"datasets": ["a"], "with_links": [], "samplings": ["adaptive", "fixed", "1-hop", "knn"]},
}
FACT = {
    graph: {**dict.fromkeys(FACTS, 0.0), "homophily": value}
    for graph, value in zip(GRAPHS, (0.1, 0.2, 0.8, 0.9), strict=True)
}
LABELS = np.arange(60) % 2


def row(family: str, candidate: str, graph: str, val: float, test: float, index: int = 0) -> Row:
    return {
        "family": family,
        "candidate": candidate,
        "dataset": graph,
        "split": "uniform-60-20-20",
        "index": index,
        "val_accuracy": val,
        "test_accuracy": test,
        "bandit": {"acted": True, "settled": False},
        "seconds_all": 36.0,
    }


def said(found: Row) -> np.ndarray:
    """Probabilities of validation and test nodes with the accuracy of the row."""
    right = np.concatenate([np.arange(60) < 60 * found[f"{part}_accuracy"] for part in ("val", "test")])
    labels = np.concatenate([LABELS, LABELS])
    first = np.where(right, np.where(labels == 0, 0.9, 0.1), np.where(labels == 0, 0.1, 0.9))
    return np.column_stack([first, 1 - first]).astype(np.float16)


def verdict(rows: list[Row]) -> Verdict:
    return Verdict(PLAN, rows, FACT, said, lambda *_: (LABELS, LABELS))


def test_a_threshold_must_pay() -> None:
    split = {
        "a": {"one": 0.9, "two": 0.5},
        "b": {"one": 0.9, "two": 0.5},
        "c": {"one": 0.5, "two": 0.9},
        "d": {"one": 0.5, "two": 0.9},
    }
    rule = choose(split, FACT)
    assert rule == Rule("one", "two", "homophily", 0.5, regret=0.0)
    assert [rule.candidate(FACT[graph]) for graph in GRAPHS] == ["one", "one", "two", "two"]
    level = {"a": {"one": 0.9, "two": 0.895}, "c": {"one": 0.9, "two": 0.907}}
    assert str(choose(level, FACT)) == "two"  # a threshold saves a quarter of a point
    assert choose({"a": {"one": 0.5}, "b": {"two": 0.5}}, FACT) is None


def test_a_default_is_chosen_without_its_graph() -> None:
    values = {"a": (0.2, 0.9), "b": (0.8, 0.7), "c": (0.8, 0.7), "d": (0.8, 0.7)}
    rows = [
        row("gcn", name, graph, val, 0.5)
        for graph, own in values.items()
        for name, val in zip(("one", "two"), own, strict=True)
    ]
    found = verdict(rows)
    assert found.defaults["gcn", "a"] == "one"
    assert found.default("gcn", "a") == Rule("one")
    assert found.default("gcn", "b") != Rule("one")  # here a's regret of 0.7 counts


def test_survivors_alone_and_shared_splits() -> None:
    rows = [row("gcn", name, graph, 0.6, 0.5) for graph in GRAPHS for name in ("one", "two")]
    rows += [row("gcn", "one", "a", 0.8, 0.5, 1), row("gcn", "one", "b", 0.8, 0.5, 1)]
    found = verdict(rows)
    assert found.survivors("gcn") == ["one", "two"]
    assert found.accuracies("gcn", GRAPHS)["a"] == {"one": 0.6, "two": 0.6}
    rows += [row("gcn", "two", "a", 0.7, 0.5, 1)]
    assert verdict(rows).accuracies("gcn", ["a"])["a"] == {
        "one": pytest.approx(0.7),
        "two": pytest.approx(0.65),
    }


def everything() -> list[Row]:
    rows = []
    for family in FAMILIES:
        for at, graph in enumerate(GRAPHS):
            test = 0.8 - 0.01 * at if family == "ansgt" else 0.78
            rows += [row(family, "one", graph, 0.8, test), row(family, "two", graph, 0.6, 0.9)]
    return rows


def test_standings_and_mixtures() -> None:
    found = verdict(everything())
    assert found.gaps("ansgt") == {
        "a": pytest.approx(0.02),
        "b": pytest.approx(0.01),
        "c": pytest.approx(0.0),
        "d": pytest.approx(-0.01),
    }
    first = standings(found).rows[0]
    assert first[:4] == ["ansgt", "the seven", 4, 1.0]
    assert first[5] == "-1.0 (d)"
    own = found.test["a"]
    assert own["ansgt"] == 0.8  # the candidate of the best validation, not of the best test
    assert own["ansgt, best"] == pytest.approx(0.8)  # validation gives `one` nearly all weight
    assert own["auto"] == pytest.approx(0.8, abs=0.03)
    again = replace(found, stored=lambda _: None)  # the probabilities are gone
    assert again.test["a"] == own
    assert replace(again, mixed={}).test["a"].get("auto") is None


def test_others_are_the_survivors_without_the_default() -> None:
    found = verdict(everything())
    assert found.defaults["gcn", "a"] == "one"
    (other,) = found.others("gcn", "a", 0)
    assert other is not None
    assert (other["family"], other["dataset"], other["candidate"]) == ("gcn", "a", "two")
    assert found.others("gcn", "a", 2) == [None]


def test_incomplete_rows() -> None:
    rows = [found for found in everything() if found["family"] != "gat" and found["dataset"] != "d"]
    found = verdict([*rows, row("ansgt", "one", "d", 0.1, 0.1)])
    assert "d" not in found.accuracies("ansgt", GRAPHS)
    text = report(found)
    assert "- gat: a, b, c, d" in text
    assert "second round (splits 1 and 2): 0 rows" in text
    assert found.gaps("ansgt") == {}


def test_arms_as_experts() -> None:
    rows = []
    for index in range(3):
        for name, val, test in (
            ("adaptive", 0.8, 0.7),
            ("fixed", 0.7, 0.6),
            ("1-hop", 0.9, 0.8),
            ("knn", 0.5, 0.9),
        ):
            rows.append(row("arms", name, "a", val, test, index))
    rows.append(row("arms", "adaptive", "a", 0.8, 0.7, 3))  # a split without the others
    (line,) = arms(verdict(rows)).rows
    assert line[:2] == ["a", 3]
    assert line[3] == "+10.0 ± 0.0"
    assert line[4] == "-10.0 ± 0.0 (1-hop)"
    assert line[5] == "-10.0 ± 0.0"  # 1-hop, on each split
    assert line[6] == pytest.approx(80.0)


def test_the_verdicts_rules_are_those_that_the_product_applies() -> None:
    path = CONFIG_FOLDERS[1] / "presets.yaml"
    rules = {
        "ansgt": Rule("draws", "hubs", "mean_degree", 12.5),
        "acmgcn": Rule("plus", best=("plus", "quick")),
    }
    content = yaml.safe_load(with_rules(path.read_text(), rules))
    before = yaml.safe_load(path.read_text())
    chosen = {"low": "draws", "high": "hubs", "fact": "mean_degree", "threshold": 12.5}
    assert content["families"]["ansgt"]["rule"] == chosen
    assert content["families"]["acmgcn"]["rule"] == {"low": "plus", "best": ["plus", "quick"]}
    for family in rules:
        del content["families"][family]["rule"], before["families"][family]["rule"]
    assert content == before
    with pytest.raises(ValueError, match="no rule of family 'unknown'"):
        with_rules(path.read_text(), {"unknown": Rule("draws")})
