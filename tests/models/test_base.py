"""The registry: names, classes, classes of one's own; and a baseline of one's own, which goes through all that ours do."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ansgt import NodeClassifier, load_dataset
from ansgt.errors import InputError
from ansgt.graph import Graph
from ansgt.linalg import gcn_norm, to_torch
from ansgt.models import ANSGT, MODELS, NodeModel, model_name, resolve_model
from ansgt.models.base import Inputs, layer_bytes
from ansgt.models.baselines.layers import FeatureLinear, feature_dropout
from ansgt.runs.prepare import train
from ansgt.settings import ModelSettings, Rate
from ansgt.storage import DiskCache


class Mine(NodeModel):
    """A model of one's own."""


@pytest.mark.parametrize("name", MODELS)
def test_a_name_and_its_class_are_the_same_model(name: str) -> None:
    found = resolve_model(name)
    assert resolve_model(found) is found
    assert model_name(found) == model_name(name) == name


def test_bytes_of_layers_by_hand() -> None:
    """14 n (p + d L) + 128 per edge and direction; sparse features take no room of their own."""
    graph = Graph.from_arrays(torch.eye(10, 6), torch.tensor([[0, 1, 2], [1, 2, 3]]))
    assert layer_bytes(graph, 8, 3) == 14 * 10 * (6 + 8 * 3) + 128 * 2 * 3
    assert layer_bytes(graph, 8) == layer_bytes(graph, 8, 2) == 14 * 10 * (6 + 8 * 2) + 128 * 2 * 3
    sparse = graph.with_features(graph.x.to_sparse_csr())
    assert layer_bytes(sparse, 8, 3) == 14 * 10 * 8 * 3 + 128 * 2 * 3


def test_ansgt_by_attribute() -> None:
    assert ANSGT is resolve_model("ansgt")


def test_a_class_of_ones_own() -> None:
    assert resolve_model(Mine) is Mine
    assert model_name(Mine) == "Mine"


@dataclass
class NoModel:
    x: int = 0


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("gnc", "Unknown model 'gnc'; known: acmgcn, ansgt, .*gcn"),
        ("x" * 10_000, "Unknown model 'xxx"),
        (["gcn"], r"Unknown model"),
        (None, "Unknown model 'None'"),
        (NoModel, "must be a subclass of NodeModel, not"),
        (nn.Linear, "must be a subclass of NodeModel, not"),
        (type("gcn", (NodeModel,), {}), "must not be called 'gcn'"),
    ],
    ids=str,
)
def test_what_is_no_model(model: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        resolve_model(model)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 600


class Smooth(NodeModel):
    @dataclass(frozen=True)
    class Settings(ModelSettings):
        dropout: Rate = 0.25

    def __init__(self, in_channels: int, out_channels: int, settings: Settings, *, num_kept: int = 0) -> None:
        super().__init__(num_kept)
        self.lin, self.dropout = FeatureLinear(in_channels, out_channels), settings.dropout

    @classmethod
    def prepare(cls, graph: Graph, cache: DiskCache, settings: Settings) -> Inputs:
        return {"x": graph.x, "adj": to_torch(gcn_norm(graph))}

    def forward(self, inputs: Inputs) -> Tensor:
        x = feature_dropout(inputs["x"], self.dropout, self.training, self.num_kept)
        return inputs["adj"] @ self.lin(x)


QUICK = {"epochs": 20, "lr": 0.1}


def test_it_trains_in_the_harness(tmp_path: Path) -> None:
    overrides = {**QUICK, "size_columns": True, "dropout": 0.1}
    summary = train("newman", Smooth, run_dir=tmp_path / "run", device="cpu", overrides=overrides)
    assert summary["model"] == "Smooth"
    assert summary["test_accuracy"]["mean"] > 0.9


def test_it_is_fitted_saved_and_loaded(tmp_path: Path) -> None:
    data = load_dataset("newman")
    clf = NodeClassifier(Smooth, device="cpu", dropout=0.0, **QUICK).fit(data)
    assert clf.config_.settings == {"dropout": 0.0}
    assert clf.score() > 0.9
    clf.save(tmp_path / "mine")
    again = NodeClassifier.load(tmp_path / "mine", device="cpu", model=Smooth)
    assert np.array_equal(again.predict_proba(), clf.predict_proba())
    np.testing.assert_allclose(again.predict_proba(data), clf.predict_proba(), atol=1e-6)


def test_without_its_class_a_stored_one_is_unknown(tmp_path: Path) -> None:
    data = load_dataset("newman")
    NodeClassifier(Smooth, device="cpu", epochs=1).fit(data).save(tmp_path / "mine")
    with pytest.raises(InputError, match="Unknown model 'Smooth'"):
        NodeClassifier.load(tmp_path / "mine", device="cpu").predict(data)


def test_wrong_settings_of_ones_own_model() -> None:
    data = load_dataset("newman")
    with pytest.raises(InputError, match=r"Setting model\.dropout must be in \[0, 1\), not 3"):
        NodeClassifier(Smooth, dropout=3, device="cpu").fit(data)


def test_defaults_of_the_base() -> None:
    graph = Graph.from_arrays(torch.eye(3), torch.tensor([[0, 1], [1, 2]]))
    settings = NodeModel.Settings()
    assert set(NodeModel.prepare(graph, DiskCache(None), settings)) == {"x", "edge_index"}
    assert NodeModel.estimate_bytes(graph, settings) == 0
    assert NodeModel.graph_settings(graph) == {}
    with pytest.raises(NotImplementedError):
        NodeModel()({})
