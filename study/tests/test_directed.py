"""Links by their direction: as arms and as columns, no loops."""

import numpy as np

from ansgt.testing import path_graph
from study.scripts.directed import arms_of, links_of


def test_in_and_out_neighbours() -> None:
    arms = arms_of(np.array([[0, 0, 1, 2], [1, 2, 1, 1]]), 3)["directed"]
    followed, back = (arm.fit(path_graph(3)).rows(np.arange(3)).toarray() for arm in arms[-2:])
    assert followed.tolist() == [[0, 0.5, 0.5], [0, 0, 0], [0, 1, 0]]
    assert back.tolist() == [[0, 0, 0], [0.5, 0, 0.5], [1, 0, 0]]


def test_columns_of_both_directions() -> None:
    columns = links_of(np.array([[0, 2, 1], [1, 1, 1]]), 3).to_dense()
    assert columns.tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0]]
