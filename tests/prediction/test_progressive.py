"""Weights of experts: the best one wins where nodes tell, nobody where they do not, and the bound holds."""

import math

import numpy as np
import pytest

from ansgt.prediction.progressive import (
    CALIBRATED,
    TOLERANCE,
    ExpertMixture,
    crossed_mixture,
    excess_bound,
    expert_weights,
    likelihoods_of,
    most_experts,
    progressive_weights,
)


def test_weights_of_two_nodes_by_hand() -> None:
    """One node: half of the weight is the start's, half is proportional to the likelihoods (with the mean as third)."""
    weights = progressive_weights(np.array([[0.9, 0.3]]))
    after = np.array([0.9, 0.3, 0.6]) / 1.8
    each = (np.full(3, 1 / 3) + after) / 2
    assert weights == pytest.approx(each[:2] + each[2] / 2)


def test_the_better_expert_gets_the_weight() -> None:
    rng = np.random.RandomState(0)
    likelihoods = np.column_stack([rng.uniform(0.7, 0.9, 400), rng.uniform(0.3, 0.6, 400)])
    weights = progressive_weights(likelihoods)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.95


def test_the_mean_wins_where_experts_complement_each_other() -> None:
    one = np.where(np.arange(400) % 2, 0.99, 0.01)
    assert progressive_weights(np.column_stack([one, 1 - one])) == pytest.approx([0.5, 0.5], abs=0.01)


def test_no_single_node_rules_an_expert_out() -> None:
    likelihoods = np.full((100, 2), 0.5)
    likelihoods[:, 0] = 0.7
    likelihoods[0, 0] = 0.0
    assert progressive_weights(likelihoods)[0] > 0.5


@pytest.mark.parametrize("nodes", [0, 5, 13, 20, 36, 100])
def test_as_many_experts_as_nodes_support(nodes: int) -> None:
    most = most_experts(nodes)
    assert most == 0 or excess_bound(most, nodes) <= TOLERANCE
    assert excess_bound(most + 1, nodes) > TOLERANCE


def test_a_plain_mean_below() -> None:
    likelihoods = np.column_stack([np.full(12, 0.9), np.full(12, 0.1)])
    assert expert_weights(likelihoods).tolist() == [0.5, 0.5]
    assert expert_weights(np.repeat(likelihoods, 3, axis=0))[0] > 0.6
    assert expert_weights(np.zeros((0, 3))) == pytest.approx([1 / 3] * 3)


def test_the_bound_holds_on_average() -> None:
    """Fresh nodes: the mixture's log loss exceeds the best expert's by less than the bound, over 200 draws."""
    rng = np.random.RandomState(0)
    excess = []
    for _ in range(200):
        labels = rng.randint(2, size=41)
        certain = rng.uniform(0.4, 0.9, (4, 1))
        right = rng.uniform(size=(4, 41)) < 0.7
        q = np.where(right, certain, 1 - certain)
        weights = progressive_weights(q[:, :40].T)
        losses = -np.log(q[:, 40])
        excess.append([-math.log(weights @ q[:, 40]), *losses])
        assert len(labels) == 41
    mean = np.mean(excess, axis=0)
    assert mean[0] - mean[1:].min() <= excess_bound(4, 40) + 0.02


def test_crossed_means_that_no_node_weighs_for_itself() -> None:
    """An expert that knows one node's label by heart gains nothing there from that."""
    rng = np.random.RandomState(0)
    labels = rng.randint(2, size=50)
    honest = np.full((50, 2), 0.5)
    cheat = np.full((50, 2), 0.5)
    cheat[7, labels[7]], cheat[7, 1 - labels[7]] = 1.0, 0.0
    mixed = crossed_mixture(np.stack([honest, cheat]), labels)
    assert mixed[7, labels[7]] == pytest.approx(0.75, abs=1e-6)  # equal weights: nobody else saw a difference
    assert mixed.sum(axis=1) == pytest.approx(np.ones(50))


def test_likelihoods() -> None:
    probabilities = np.array([[[0.1, 0.9], [0.8, 0.2]], [[0.5, 0.5], [0.4, 0.6]]])
    assert likelihoods_of(probabilities, np.array([1, 0])).tolist() == [[0.9, 0.5], [0.8, 0.4]]


def test_an_expert_that_is_too_sure_gets_its_weight_back() -> None:
    """It is right on 70 % and says 0.999; the other on 60 % and says 0.6."""
    rng = np.random.RandomState(0)
    labels = rng.randint(0, 2, CALIBRATED)
    told = np.zeros((2, CALIBRATED, 2))
    for row, right, sure in ((0, 0.7, 0.999), (1, 0.6, 0.6)):
        guess = np.where(rng.random(CALIBRATED) < right, labels, 1 - labels)
        told[row, np.arange(CALIBRATED), guess] = sure
        told[row, np.arange(CALIBRATED), 1 - guess] = 1 - sure
    plain, own = ExpertMixture.of(told, labels, calibrated=False), ExpertMixture.of(told, labels)
    assert plain.weights[0] < 0.5  # of the mean of both
    assert own.weights[0] > 0.75
    assert own.temperatures[0] > 5
    assert own.temperatures[1] == pytest.approx(1.0, abs=0.5)
    assert own.mixed(told).sum(axis=1) == pytest.approx(1.0)
    assert ExpertMixture.of(told[:, :-1], labels[:-1]).temperatures == [1.0, 1.0]  # too few nodes
    assert ExpertMixture.of(told[:1], labels).temperatures == [1.0]  # nothing to weigh
