"""The picture of an explanation: what is drawn where, in which colour, and that it draws itself in a notebook."""

import base64
import dataclasses
import math
from pathlib import Path

import pytest

import ansgt
from ansgt.errors import InputError
from ansgt.plotting import COLORS, Picture
from ansgt.prediction.explanation import Attended, Explanation, Neighbour
from ansgt.prediction.picture import colors_of, positions

ROWS = [
    Attended("near", 0.3, "a", "a", 1, 1.0, {"1-hop": 0.9, "knn": 0.1}, trained=True),
    Attended("two", 0.2, "b", "a", 2, 1.0, {"1-hop": 0.0, "knn": 1.0}, trained=False),
    Attended("far", 0.1, None, "a", None, 0.5, {"1-hop": 0.0, "knn": 1.0}, trained=False),
]
FOUND = Explanation(
    node="me",
    label="a",
    prediction="a",
    probabilities=[0.9, 0.1],
    kinds={"centre": 0.4, "node": 0.6},
    heuristics={"1-hop": 0.45, "knn": 0.55},
    attended=ROWS,
    trained=False,
    num_neighbours=2,
    num_trained=1,
    neighbours=(Neighbour("near", "a", 0.3, True), Neighbour("other", "b", 0.0, False)),
    edges=(("me", "near"), ("me", "other"), ("near", "two")),
)


def test_rings_are_hops() -> None:
    places = positions(FOUND)
    radius = {name: math.hypot(*place) for name, place in places.items()}
    assert radius["me"] == 0
    assert radius["near"] == pytest.approx(radius["other"])
    assert radius["near"] < radius["two"] < radius["far"]


def test_lines_are_attention() -> None:
    picture = FOUND.plot()
    assert isinstance(picture, Picture)
    bars, around = picture.axes
    assert [label.get_text() for label in bars.get_yticklabels()] == ["near", "two", "far"]
    lines = {line.get_color(): line for line in around.lines if line.get_linestyle() == "-"}
    assert lines[COLORS["1-hop"]].get_linewidth() > lines[COLORS["knn"]].get_linewidth()
    words = {text.get_text() for legend in picture.legends for text in legend.get_texts()}
    assert {"brought by 1-hop", "brought by knn", "trained on", "edge of the graph"} <= words
    assert any("width: share" in word for word in words)
    assert "near" in {text.get_text() for text in around.texts}


def test_a_heuristic_without_a_colour_gets_one() -> None:
    colors = colors_of(dataclasses.replace(FOUND, heuristics={"1-hop": 0.5, "mine": 0.5}))
    assert colors["1-hop"] == COLORS["1-hop"]
    assert colors["mine"] not in COLORS.values()


def test_a_notebook_shows_it(tmp_path: Path) -> None:
    picture = FOUND.plot(tmp_path / "why.png")
    assert picture._repr_png_() == (tmp_path / "why.png").read_bytes()
    shown = picture._repr_html_()
    assert base64.b64decode(shown.split("base64,")[1].split('"')[0]).startswith(b"\x89PNG")
    FOUND.plot(tmp_path / "why.svg")
    with pytest.raises(InputError, match=r"\.png, \.pdf, \.svg"):
        FOUND.plot(tmp_path / "why.gif")


def test_a_node_alone(tmp_path: Path) -> None:
    alone = dataclasses.replace(FOUND, attended=[], neighbours=(), edges=(), num_neighbours=0, num_trained=0)
    alone.plot(tmp_path / "alone.png")
    assert "it has no neighbours" in str(alone)


def test_a_baseline_draws_importance(tmp_path: Path) -> None:
    clf = ansgt.NodeClassifier("gcn", epochs=3, device="cpu").fit(ansgt.load_dataset("newman"))
    picture = clf.explain(3, top=4).plot(tmp_path / "gcn.png")
    assert "PyG's Explainer" in picture.axes[0].get_xlabel()
