"""Faithfulness: what is dropped, and that a model that hangs on one token is told from one that does not."""

from pathlib import Path

import numpy as np
import pytest
import torch

import ansgt
from ansgt.datasets.load import Source
from ansgt.errors import InputError
from ansgt.prediction.faithfulness import Faithfulness, faithfulness, without
from ansgt.runs.reopen import FinishedRun

QUICK = {"num_layers": 1, "num_augmentations": 2, "num_sampled": 6, "device": "cpu"}


@pytest.fixture(scope="module")
def clf() -> ansgt.NodeClassifier:
    return ansgt.NodeClassifier(epochs=15, **QUICK).fit(ansgt.load_dataset("newman"))


def test_only_the_named_nodes_are_masked(clf: ansgt.NodeClassifier) -> None:
    nodes = torch.tensor([3, 60])
    batch = clf.trained_.sequences(nodes)
    gone = [batch.ids[0, 1:3].numpy(), np.zeros(0, dtype=np.int64)]
    left = without(batch, gone)
    each = len(batch) // 2
    assert torch.equal(left.mask[each:], batch.mask[each:])
    dropped = batch.mask[:each] & ~left.mask[:each]
    assert set(batch.ids[:each][dropped].tolist()) == set(gone[0].tolist())
    remaining = left.ids[:each, batch.layout.sampled][left.mask[:each, batch.layout.sampled]]
    assert not set(remaining.tolist()) & set(gone[0].tolist())
    assert bool(left.mask[:, 0].all())


def test_by_hand_for_one_node(clf: ansgt.NodeClassifier) -> None:
    trained, node = clf.trained_, 9
    explained = trained.explain(node, top=200)
    batch = trained.sequences(torch.tensor([node]))
    top = np.array([row.node for row in explained.attended[:2]])
    with torch.no_grad():
        trained.model.eval()
        before = trained.model(batch).softmax(-1).mean(0)
        after = trained.model(without(batch, [top])).softmax(-1).mean(0)
    best = int(before.argmax())
    found = faithfulness(trained, [node], dropped=2, draws=1)
    assert found.by_share == pytest.approx(float(before[best] - after[best]), abs=1e-6)
    everything = faithfulness(trained, [node], dropped=500, draws=1)
    assert everything.by_share == pytest.approx(everything.at_random, abs=1e-6)


def test_what_the_attention_names_matters_more(clf: ansgt.NodeClassifier) -> None:
    found = clf.faithfulness(dropped=3)
    assert found.num_nodes == len(clf.split_.test)
    assert found.by_share > found.at_random
    assert found == clf.faithfulness(dropped=3)
    assert "points of probability" in str(found)


def test_ratio_of_nothing() -> None:
    assert Faithfulness(1, 1, 0.2, 0.0, 1).ratio == float("inf")


def test_refusals(clf: ansgt.NodeClassifier) -> None:
    with pytest.raises(InputError, match="no node is given"):
        faithfulness(clf.trained_, [])
    with pytest.raises(InputError, match="must be at least 1"):
        clf.faithfulness(dropped=0)
    gcn = ansgt.NodeClassifier("gcn", epochs=1, device="cpu").fit(ansgt.load_dataset("newman"))
    with pytest.raises(InputError, match="models that read sequences"):
        gcn.faithfulness([1, 2])


@pytest.mark.data
def test_on_cora_five_nodes_by_share_lower_more_than_five_at_random(
    root: Path, cache_dir: Path, tmp_path: Path
) -> None:
    """The full figure, of a training to the end, is in the documentation; here a short one on the real graph."""
    from ansgt.runs.prepare import train

    source, short = (
        Source(root, cache_dir),
        {"epochs": 3, "num_augmentations": 2, "lr": 1e-3, "warmup_epochs": 0},
    )
    train("cora", source=source, run_dir=tmp_path, device="cpu", overrides=short)
    run = FinishedRun.open(tmp_path, root=root, device="cpu", cache_dir=cache_dir)
    found = faithfulness(run.trained(0), run.split(0).test[:150].tolist())
    assert found.ratio > 1.3
