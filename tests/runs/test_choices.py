"""What a split decides by itself, and that a stored decision is read again or named as damaged."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ansgt.config import RunConfig
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.runs.choices import Choices
from ansgt.runs.prepare import Request, build_config
from ansgt.testing import random_graph


def config(link_features: str) -> RunConfig:
    given = [f"link_features={link_features}", "normalize_features=none"]
    return build_config(Request("random", "mlp", "test"), overrides=given)


def cliques(num_groups: int = 4, size: int = 15) -> Graph:
    """Groups that know only each other; features say nothing of them."""
    number = num_groups * size
    group = np.arange(number) // size
    edges = torch.from_numpy(np.stack(np.nonzero((group[:, None] == group) & ~np.eye(number, dtype=bool))))
    x = torch.from_numpy(np.random.default_rng(0).random((number, 8), dtype=np.float32))
    return Graph.from_arrays(x, edges, torch.from_numpy(group))


@pytest.mark.parametrize("asked", ["none", "links"])
def test_what_was_asked_for_is_not_decided(asked: str) -> None:
    made = Choices.of(config(asked), random_graph(), torch.arange(30))
    assert made == Choices()
    assert made.facts() == {}
    assert made.applied(config(asked)) == config(asked)


def test_auto_follows_the_vote_of_the_training_part_and_says_why() -> None:
    graph, train = cliques(), torch.arange(0, 60, 2)
    made = Choices.of(config("auto"), graph, train)
    assert made.applied(config("auto")).data.link_features == made.data["link_features"]
    vote = made.facts()["chosen"]["reasons"]["link_features"]
    gain, error = vote["with"] - vote["without"], vote["error"]
    assert (made.data["link_features"] == "links") == (gain > 2 * error)
    y = graph.y.clone()
    y[1::2] = 0
    assert Choices.of(config("auto"), replace(graph, y=y), train) == made  # no label of another node is read


def test_a_stored_choice_is_the_one_that_is_applied() -> None:
    made = Choices.of(config("auto"), random_graph(), torch.arange(30))
    assert Choices.stored(config("auto"), made.facts()).data == made.data
    assert Choices.stored(config("none"), {}) == Choices()


def test_settings_that_go_with_links_follow_the_choice(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("model: {dropout: 0.1}\nwith_links: {dropout: 0.6, optim.lr: 0.2, link_dropout: 0.3}\n")

    def built(*given: str) -> RunConfig:
        return build_config(Request("random", "mlp", "test"), file, ["normalize_features=none", *given])

    plain, linked, auto = (
        built(),
        built("link_features=links", "lr=0.7"),
        built("link_features=auto", "lr=0.7"),
    )
    assert (plain.settings["dropout"], plain.data.link_dropout, plain.with_links) == (0.1, 0.5, {})
    assert (linked.settings["dropout"], linked.data.link_dropout, linked.optim.lr) == (0.6, 0.3, 0.7)
    assert auto.settings["dropout"] == 0.1
    assert auto.with_links == {"model.dropout": 0.6, "data.link_dropout": 0.3}  # what was given stays
    assert RunConfig.from_dict(auto.as_dict()) == auto
    assert Choices({"link_features": "none"}).applied(auto).settings["dropout"] == 0.1
    followed = Choices({"link_features": "links"}).applied(auto)
    assert (followed.settings, followed.optim, followed.data) == (linked.settings, linked.optim, linked.data)
    for number, text in enumerate(("dropout: 7", "dropuot: 0.7", "link_features: none", "3: 4")):
        wrong = tmp_path / f"wrong-{number}.yaml"  # a file's content is remembered
        wrong.write_text(f"with_links: {{{text}}}\n")
        with pytest.raises(InputError, match=r"wrong-.*\.yaml"):
            build_config(Request("random", "mlp", "test"), wrong)


@pytest.mark.parametrize("result", [{}, {"chosen": 3}, {"chosen": {"data": {"link_features": "auto"}}}])
def test_a_lost_choice_is_damage(result: dict[str, object]) -> None:
    with pytest.raises(InputError, match="does not say what link_features=auto chose"):
        Choices.stored(config("auto"), result)


def test_auto_divides_words_and_counts_and_leaves_measurements_alone() -> None:
    auto = replace(config("none"), data=replace(config("none").data, normalize_features="auto"))
    graph = cliques()
    counts = graph.with_features((10 * graph.x).round())
    few = graph.with_features(graph.x * (graph.x > 0.7))
    centred = graph.with_features(graph.x - 0.5)
    found = [Choices.of(auto, one, torch.arange(30)) for one in (counts, few, graph, centred)]
    assert [one.data["normalize_features"] for one in found] == ["row", "row", "none", "none"]
    assert found[3].facts()["chosen"]["reasons"]["normalize_features"]["smallest"] < 0
    assert Choices.stored(auto, found[0].facts()).applied(auto).data.normalize_features == "row"
    with pytest.raises(InputError, match="does not say what normalize_features=auto chose"):
        Choices.stored(auto, {})
