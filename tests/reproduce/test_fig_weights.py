"""Figure 3: curves of probabilities, from histories."""

import numpy as np
import pytest

from ansgt.reproduce.fig_weights import course, curves, epochs
from ansgt.reproduce.records import Record


@pytest.fixture
def record() -> Record:
    """Two splits, of which one was stopped after two updates."""
    splits = [
        {"history": [[5, 0.6, 0.4], [10, 0.8, 0.2], [15, 0.9, 0.1]]},
        {"history": [[5, 0.4, 0.6], [10, 0.6, 0.4]]},
    ]
    return Record("a.json", {"heuristics": ["1-hop", "knn"], "splits": splits})


def test_curves_begin_equal_and_end_with_the_shortest(record: Record) -> None:
    found = curves(record)
    assert found.shape == (2, 3, 2)
    assert found[:, 0].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert np.allclose(found.sum(axis=2), 1)
    assert found[0, -1].tolist() == [0.8, 0.2]
    assert epochs(record).tolist() == [0, 5, 10]


def test_the_course_in_words(record: Record) -> None:
    assert course("cora", record) == (
        "cora: 1-hop ends highest; 1-hop is highest at epoch 10 (70 %), knn is highest at epoch 0 (50 %)."
    )
