"""Table 5: an update of the weights, and new sequences by them."""

from pathlib import Path

from ansgt.reproduce.table_sampling_time import update_once
from ansgt.runs.prepare import prepare_run
from ansgt.storage import DiskCache
from ansgt.training import build_learner
from ansgt.training.adaptive import AdaptiveLearner


def test_an_update_moves_the_weights_and_draws_anew(tmp_path: Path) -> None:
    data, config = prepare_run("newman", "ansgt", overrides={"num_layers": 1}, device="cpu")
    learner = build_learner(config, data.graph, data.split(config.split, 0, 0), 0, DiskCache(tmp_path))
    assert isinstance(learner, AdaptiveLearner)
    before, number = learner.trained.p.clone(), learner.round
    update_once(learner)
    assert len(learner.rows) == 1
    assert learner.round == number + 1
    assert (learner.trained.p != before).any()
