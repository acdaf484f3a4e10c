"""Figure 1: networks, seeds, and what the two kinds of attributes are."""

import pytest
import torch

from ansgt.reproduce.fig_motivation import ATTRIBUTES, HEURISTICS, HOMOPHILIES, SEEDS, FigMotivation
from ansgt.reproduce.task import Setup

ITEM = FigMotivation()


def test_every_heuristic_at_nine_homophilies_and_five_seeds() -> None:
    tasks = ITEM.tasks(Setup())
    assert len(HOMOPHILIES) == 9
    assert (HOMOPHILIES[0], HOMOPHILIES[-1]) == (0.05, 1.0)
    assert len(tasks) == len(ATTRIBUTES) * len(HEURISTICS) * len(HOMOPHILIES)
    assert {task.num_splits for task in tasks} == {SEEDS} == {5}
    assert len({task.path for task in tasks}) == len(tasks)


def test_a_seed_is_a_network_of_its_own_and_the_same_for_every_heuristic() -> None:
    curves = ITEM.curves(Setup(num_splits=2), "weaker")
    one, other = curves["1-hop"][0.25].runs(Setup()), curves["ppr"][0.25].runs(Setup())
    assert [config.settings["sampling"] for _, config in (*one, *other)] == ["1-hop", "1-hop", "ppr", "ppr"]
    assert one[0][0].graph.content_hash == other[0][0].graph.content_hash
    assert one[0][0].graph.content_hash != one[1][0].graph.content_hash


def test_the_weaker_attributes_say_less_of_the_class() -> None:
    """Mean share of a node's attributes that lie in its class's block: 12 and 9 of 16."""
    for kind, share in (("printed", 12 / 16), ("weaker", 9 / 16)):
        [(data, _)] = ITEM.curves(Setup(num_splits=1), kind)["knn"][0.25].runs(Setup())
        x, y = data.graph.x, data.graph.y
        blocks = torch.stack([part.sum(dim=1) for part in x.split(x.shape[1] // 4, dim=1)], dim=1)
        own = blocks[torch.arange(len(y)), y].sum() / blocks.sum()
        assert float(own) == pytest.approx(share, abs=0.05)
