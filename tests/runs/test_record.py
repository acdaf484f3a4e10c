"""Scores by hand; what a split's record holds is in test_run.py and test_ensemble.py."""

import numpy as np
import pytest
import torch

from ansgt.runs.record import score


def test_score_by_hand() -> None:
    probabilities = torch.tensor([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    accuracy, loss = score(probabilities, torch.tensor([0, 1, 1]))
    assert accuracy == pytest.approx(2 / 3)
    assert loss == pytest.approx(-np.log([0.5, 0.1, 0.8]).mean(), rel=1e-6)
