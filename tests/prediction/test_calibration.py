"""Temperature scaling, and the spread over sequences."""

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import ansgt
from ansgt.errors import InputError
from ansgt.metrics import metric
from ansgt.prediction.calibration import fitted_temperature, tempered

QUICK = {"epochs": 3, "num_layers": 1, "num_augmentations": 2, "hidden_channels": 16, "num_heads": 2}


def test_the_temperature_that_labels_were_drawn_at_is_found() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = 2 * torch.randn(20_000, 3, generator=generator, dtype=torch.float64)
    labels = torch.multinomial((logits / 2.5).softmax(dim=1), 1, generator=generator)[:, 0]
    assert fitted_temperature(logits.softmax(dim=1), labels) == pytest.approx(2.5, rel=0.05)
    assert fitted_temperature(logits[:0], labels[:0]) == 1.0


def test_ten_nodes_that_are_all_right_are_no_certainty() -> None:
    """With e = 1 / 12 over three classes the best that can be said of the right one is 1 - 2e / 3."""
    probabilities = torch.tensor([[0.6, 0.2, 0.2]]).repeat(10, 1)
    temperature = fitted_temperature(probabilities, torch.zeros(10, dtype=torch.int64))
    assert float(tempered(probabilities, temperature)[0, 0]) == pytest.approx(1 - 2 / 36, abs=1e-4)


def test_a_temperature_keeps_the_order_and_zeros_are_no_harm() -> None:
    probabilities = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7]])
    cooler = tempered(probabilities, 0.5)
    assert cooler[1].tolist() == pytest.approx([1 / 54, 4 / 54, 49 / 54], rel=1e-5)
    assert torch.equal(cooler.argsort(), probabilities.argsort())
    assert tempered(probabilities, 1.0) is probabilities
    assert bool(cooler.isfinite().all())


@pytest.fixture(scope="module")
def data() -> Data:
    return ansgt.load_dataset("newman")


@pytest.mark.parametrize("number_of", [1, 2])
def test_calibrate_lowers_the_loss_on_validation_and_changes_no_class(data: Data, number_of: int) -> None:
    settings = {**QUICK, "device": "cpu", "num_models": number_of}
    plain = ansgt.NodeClassifier(**settings).fit(data)
    scaled = ansgt.NodeClassifier(**settings, calibrate=True).fit(data)
    val = plain.split_.val
    assert np.array_equal(scaled.predict(), plain.predict())
    assert scaled.score(val, metric="log_loss") < plain.score(val, metric="log_loss")
    temperature = scaled.trained_.temperature
    assert np.allclose(
        scaled.predict_proba(),
        tempered(torch.from_numpy(plain.predict_proba()), temperature),
        atol=1e-5,
    )
    assert np.allclose(scaled.predict_proba(data), scaled.predict_proba(), atol=1e-5)
    assert np.allclose(scaled.explain(5).probabilities, scaled.predict_proba(nodes=[5])[0], atol=1e-5)


def test_the_spread_is_that_of_the_sequences(data: Data) -> None:
    clf = ansgt.NodeClassifier(**QUICK, device="cpu", num_inference=6).fit(data)
    mean, spread = clf.predict_proba(nodes=[3, 77], return_std=True)
    trained, nodes = clf.trained_, torch.tensor([3, 77])
    with torch.no_grad():
        trained.model.eval()
        each = trained.model(trained.sequences(nodes)).softmax(dim=1).view(2, 6, 4)
    assert np.allclose(mean, each.mean(dim=1), atol=1e-5)
    assert np.allclose(spread, each.std(dim=1, unbiased=False), atol=1e-5)
    assert spread.max() > 1e-4
    same, again = clf.predict_proba(data, nodes=[3, 77], return_std=True)
    assert np.allclose(same, mean, atol=1e-5)
    assert np.allclose(again, spread, atol=1e-5)


def test_the_spread_over_models_and_of_a_model_without_sequences(data: Data) -> None:
    settings = {"epochs": 3, "hidden_channels": 8, "device": "cpu"}
    several = ansgt.NodeClassifier("mlp", num_models=3, **settings).fit(data)
    each = np.stack([one.predict_proba(torch.arange(128)) for one in several.trained_.models])
    assert np.allclose(several.predict_proba(return_std=True)[1], each.std(axis=0), atol=1e-5)
    single = ansgt.NodeClassifier("mlp", **settings).fit(data)
    with pytest.raises(InputError, match="num_models=5 gives one"):
        single.predict_proba(return_std=True)
    assert metric("accuracy")(single.predict_proba(), data.y.numpy()) > 0
